/** Student mode: one output word, equation by equation, with the numbers of the model. */

/** @import { Equation, Equations } from "./types.js" */

import { button, decimal, html, isolated } from "./dom.js";

/** @type {Record<string, [string, string]>} */
const SAID = {
  query: ["The query", "What the decoder looks for at this step: a vector."],
  energies: ["The energies", "How well each source word fits the query. Any number; higher fits better."],
  weights: ["The attention weights", "The softmax makes weights of the energies, which add up to 1."],
  context: ["The context", "The mean of the vectors of the source words, each counted by its weight."],
  features: ["The features", "What the decoder makes of state and context: what the last layer reads."],
  logits: ["The logits", "A number for every word of the vocabulary. The ten largest are shown."],
  probabilities: ["The probabilities", "The softmax again, over the vocabulary: the distribution of the next word."],
};
const CELLS = 96; // of a vector that are drawn

/**
 * @typedef {{found: Equations, at: number, isForced: boolean, onAt: (at: number) => void,
 *   onHead: (head: number) => void, onClose: () => void}} Numbers
 */

/**
 * @param {Numbers} numbers
 * @returns {HTMLElement}
 */
export function numbersPanel({ found, at, isForced, onAt, onHead, onClose }) {
  const one = found.equations[at];
  const [title, said] = SAID[one.name] ?? [one.name, ""];
  const count = found.equations.length;
  const forced = one.name === "weights" && isForced ? " Here they are forced: all of it is on one word." : "";
  const steps = found.equations.map(({ name }, place) => {
    const short = (SAID[name] ?? [name])[0].replace("The ", "");
    const current = place === at && "step";
    return html("li", {}, button(short, () => onAt(place), { class: "quiet", "aria-current": current }));
  });
  const panel = html(
    "section",
    { class: "numbers", "aria-label": "The numbers of this step" },
    html("div", { class: "heading" }, html("h3", {}, title), button("Close", onClose, { class: "quiet" })),
    html("ol", { class: "steps" }, ...steps),
    html("p", { class: "formula" }, one.formula),
    html("p", { class: "note" }, said + forced),
    one.labels.length ? bars(one) : strip(one),
    html(
      "div",
      { class: "actions" },
      button("Back", () => onAt(at - 1), { disabled: at === 0 }),
      button("Next", () => onAt(at + 1), { disabled: at === count - 1, class: "primary" }),
      html("span", { class: "note" }, `${at + 1} of ${count}`),
    ),
  );
  if (found.heads > 1) panel.append(headPicker(found, onHead));
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") onClose();
  });
  return panel;
}

/**
 * @param {Equations} found
 * @param {(head: number) => void} onHead
 * @returns {HTMLElement}
 */
function headPicker({ heads, head }, onHead) {
  const options = Array.from({ length: heads }, (_, place) =>
    html("option", { value: place, selected: place === head }, `head ${place + 1}`),
  );
  const select = html("select", {}, ...options);
  select.addEventListener("change", () => onHead(Number(select.value)));
  return html("label", { class: "picker" }, "Last layer, ", select);
}

/**
 * Labelled numbers with bars from zero.
 * @param {Equation} equation
 * @returns {HTMLElement}
 */
function bars({ labels, values }) {
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const rows = labels.map((label, place) => {
    const value = values[place];
    const bar = html("span", { class: value < 0 ? "signed negative" : "signed" });
    bar.style.setProperty("--p", String(Math.abs(value) / most));
    const cell = html("td", { class: "bars" }, bar);
    return html("tr", {}, html("th", { scope: "row" }, isolated(label)), html("td", { class: "figure" }, decimal(value)), cell);
  });
  return html("table", { class: "values" }, html("tbody", {}, ...rows));
}

/**
 * A vector as a strip of cells: colour is the sign, strength the size.
 * @param {Equation} equation
 * @returns {HTMLElement}
 */
function strip({ values, norm }) {
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const cells = values.slice(0, CELLS).map((value) => {
    const cell = html("span", { class: value < 0 ? "cell negative" : "cell", title: decimal(value) });
    cell.style.setProperty("--p", String(Math.abs(value) / most));
    return cell;
  });
  const first = values.slice(0, 4).map(decimal).join("  ");
  const more = values.length > 4 ? " …" : "";
  const said = `${values.length} numbers, norm ${decimal(norm)}: ${first}${more}`;
  return html("div", {}, html("div", { class: "strip", role: "img", "aria-label": said }, ...cells), html("p", { class: "note figure" }, said));
}
