/** The hypotheses of a search: ranked by any length penalty, and as a tree of all candidates. */

/** @import { BeamNode, BeamTree, Token } from "./types.js" */
/** @import { Penalty } from "./rank.js" */

import { button, decimal, html, isolated, svg } from "./dom.js";
import { joined } from "./decisions.js";
import { path, ranked } from "./rank.js";

const SHOWN = 8;
const [ROW, GAP, MARGIN, LETTER] = [24, 46, 12, 8];
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/;

/**
 * @param {BeamTree} tree
 * @param {Penalty} searched
 * @param {Penalty} wanted
 * @param {(tokens: Token[]) => void} onTake
 * @returns {HTMLElement}
 */
export function hypothesisTable(tree, searched, wanted, onTake) {
  const rows = ranked(tree, searched, wanted).slice(0, SHOWN).map(({ number, score }, place) => {
    const nodes = path(tree, number).map((one) => tree.nodes[one - 1]);
    const last = nodes[nodes.length - 1];
    const tokens = nodes.map(({ id, token, space }) => ({ id, shown: token, space }));
    const text = joined(tokens.filter(({ shown }) => shown !== "</s>"));
    const take = button("", () => onTake(tokens), { class: "take", "aria-label": `Take ${text}` });
    take.append(isolated(text));
    return html(
      "tr",
      place ? {} : { class: "best" },
      html("td", { class: "figure" }, String(place + 1)),
      html("td", {}, take),
      html("td", { class: "figure" }, decimal(score)),
      html("td", { class: "figure" }, decimal(last.log_p)),
      html("td", { class: "figure" }, String(last.step)),
    );
  });
  const heads = ["", "Hypothesis", "Score", "log p", "Length"].map((name) => html("th", { scope: "col" }, name));
  const body = html("tbody", {}, ...rows);
  return html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Hypotheses" },
    html("table", {}, html("thead", {}, html("tr", {}, ...heads)), body));
}

/**
 * @param {string} text
 * @returns {number}
 */
function width(text) {
  return [...text].reduce((sum, character) => sum + LETTER * (WIDE.test(character) ? 1.7 : 1), 0);
}

/**
 * Columns of candidates, each step in the order of its parents, so that no lines cross.
 * @param {BeamTree} tree
 * @returns {BeamNode[][]}
 */
function columns(tree) {
  /** @type {Map<number, BeamNode[]>} */
  const children = new Map();
  for (const node of tree.nodes) children.set(node.parent, [...(children.get(node.parent) ?? []), node]);
  const found = [];
  for (let parents = [0]; parents.length; ) {
    const column = parents.flatMap((parent) =>
      (children.get(parent) ?? []).sort((a, b) => a.group - b.group || b.log_p - a.log_p),
    );
    if (column.length) found.push(column);
    parents = column.map(({ number }) => number);
  }
  return found;
}

/**
 * @param {BeamTree} tree
 * @returns {HTMLElement}
 */
export function beamTree(tree) {
  const all = columns(tree);
  const winner = new Set(tree.best.length ? path(tree, tree.best[0]) : []);
  const tallest = Math.max(1, ...all.map((column) => column.length));
  const middle = MARGIN + (ROW * tallest) / 2;
  /** @type {Map<number, {left: number, right: number, y: number}>} */
  const places = new Map([[0, { left: MARGIN, right: MARGIN + width("<s>"), y: middle }]]);
  let x = MARGIN + width("<s>") + GAP;
  for (const column of all) {
    const top = middle - (ROW * (column.length - 1)) / 2;
    column.forEach(({ number, token }, place) =>
      places.set(number, { left: x, right: x + width(token) + 34, y: top + ROW * place }),
    );
    x = GAP + Math.max(...column.map(({ number }) => places.get(number)?.right ?? x));
  }
  const order = [...tree.nodes].sort((a, b) => rankOf(a, winner) - rankOf(b, winner));
  const parts = [
    ...order.map((node) => line(node, places, winner)),
    svg("text", { x: MARGIN, y: middle + 4, class: "pruned" }, "<s>"),
    ...order.flatMap((node) => label(node, places, winner)),
  ];
  const kept = tree.nodes.filter(({ fate }) => fate !== "pruned").length;
  const said = `Beam search: ${tree.nodes.length} candidates, of which ${kept} were kept`;
  const [w, h] = [x, 2 * middle];
  const drawing = svg("svg", { class: "tree", width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": said }, ...parts);
  return html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Beam tree" }, drawing);
}

/** @param {BeamNode} node @param {Set<number>} winner */
function rankOf(node, winner) {
  return winner.has(node.number) ? 2 : node.fate === "pruned" ? 0 : 1;
}

/** @param {BeamNode} node @param {Set<number>} winner */
function kindOf(node, winner) {
  return ["pruned", "kept", "winner"][rankOf(node, winner)];
}

/**
 * @param {BeamNode} node
 * @param {Map<number, {left: number, right: number, y: number}>} places
 * @param {Set<number>} winner
 * @returns {Element}
 */
function line(node, places, winner) {
  const [a, b] = [places.get(node.parent), places.get(node.number)];
  if (!a || !b) return svg("g");
  const middle = (a.right + b.left) / 2;
  const d = `M${a.right + 4} ${a.y}C${middle} ${a.y} ${middle} ${b.y} ${b.left - 4} ${b.y}`;
  return svg("path", { d, class: kindOf(node, winner), "stroke-width": 0.7 + 4.3 * node.p });
}

/**
 * @param {BeamNode} node
 * @param {Map<number, {left: number, right: number, y: number}>} places
 * @param {Set<number>} winner
 * @returns {Element[]}
 */
function label(node, places, winner) {
  const place = places.get(node.number);
  if (!place) return [];
  const kind = kindOf(node, winner);
  const p = node.p.toFixed(2).replace(/^0/, "");
  return [
    svg("text", { x: place.left, y: place.y + 4, class: kind }, node.token),
    svg("text", { x: place.right - 30, y: place.y + 4, class: "small" }, p),
  ];
}
