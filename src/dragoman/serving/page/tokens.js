/** Source and output, one above the other. A word under the pointer or the focus shows its attention. */

/** @import { Answer, Step, Token } from "./types.js" */

import { html, isolated, percent, roving, svg } from "./dom.js";

const FAINTEST = 0.02; // a weaker attention is not drawn
const NUMBERED = 0.05;

/**
 * @typedef {{answer: Answer, weights: number[][], selected: number | null, marked: Set<number>,
 *   onStep: (step: number) => void, onSource: (position: number) => void}} Shown
 * `weights` has a row per step; `marked` are the steps that a decision was made for.
 */

/**
 * @param {Shown} shown
 * @returns {HTMLElement}
 */
export function alignment(shown) {
  const { answer, weights, selected } = shown;
  const sources = answer.source.map((token, place) =>
    tokenButton(token, `${token.shown}, source word ${place + 1}`, () => shown.onSource(place)),
  );
  const steps = answer.steps.map((step, place) => stepButton(step, place, shown));
  const source = row("Source words", "source", answer.sourceIsRightToLeft, sources, 0);
  const output = row("Output words", "output", answer.outputIsRightToLeft, steps, selected ?? 0);
  const curves = svg("svg", { class: "curves", "aria-hidden": "true" });
  const box = html("div", { class: "alignment" }, curves, source, output);

  /** @type {[number | null, number | null]} the word whose attention is seen: of the output, or of the source */
  let now = [selected, null];
  /** @param {number | null} step @param {number | null} place */
  const show = (step, place) => {
    now = [step, place];
    const row = step === null ? null : weights[step];
    paint(sources, row ?? (place === null ? [] : sources.map((_, s) => (s === place ? 1 : 0))), step !== null);
    const column = place === null ? [] : weights.map((one) => one[place]);
    paint(steps, step === null ? column : steps.map((_, t) => (t === step ? 1 : 0)), place !== null);
    const pairs = step === null ? column.map((w, t) => ({ w, s: place ?? 0, t })) : (row ?? []).map((w, s) => ({ w, s, t: step }));
    draw(box, curves, pairs.filter(({ w }) => w >= FAINTEST), sources, steps);
  };
  const rest = () => show(selected, null);
  listen(sources, (place) => show(null, place), rest);
  listen(steps, (step) => show(step, null), rest);
  new ResizeObserver(() => show(...now)).observe(box);
  return box;
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {boolean} isRightToLeft
 * @param {HTMLButtonElement[]} buttons
 * @param {number} current
 * @returns {HTMLElement}
 */
function row(label, kind, isRightToLeft, buttons, current) {
  const dir = isRightToLeft ? "rtl" : "ltr";
  const found = html("div", { class: `row ${kind}`, role: "toolbar", "aria-label": label, dir }, ...buttons);
  roving(found, current);
  return found;
}

/**
 * @param {Token} token
 * @param {string} label
 * @param {() => void} act
 * @returns {HTMLButtonElement}
 */
function tokenButton(token, label, act) {
  const end = token.shown === "</s>" ? " end" : "";
  const kind = `token${token.space ? " space" : ""}${end}`;
  return html("button", { type: "button", class: kind, "aria-label": label, click: act }, isolated(token.shown));
}

/**
 * @param {Step} step
 * @param {number} place
 * @param {Shown} shown
 * @returns {HTMLButtonElement}
 */
function stepButton(step, place, { selected, marked, onStep }) {
  const changed = marked.has(place) ? ", changed" : "";
  const label = `${step.shown}, output word ${place + 1}, probability ${percent(step.p)}${changed}`;
  const found = tokenButton(step, label, () => onStep(place));
  found.setAttribute("aria-pressed", String(place === selected));
  if (marked.has(place)) found.classList.add("changed");
  const bar = html("span", { class: "bar" });
  bar.style.setProperty("--p", String(step.p));
  found.append(bar);
  return found;
}

/**
 * @param {HTMLButtonElement[]} buttons
 * @param {(place: number) => void} enter
 * @param {() => void} leave
 */
function listen(buttons, enter, leave) {
  buttons.forEach((one, place) => {
    for (const name of ["pointerenter", "focus"]) one.addEventListener(name, () => enter(place));
    for (const name of ["pointerleave", "blur"]) one.addEventListener(name, leave);
  });
}

/**
 * Colour words by their weights, and number the larger ones.
 * @param {HTMLButtonElement[]} buttons
 * @param {number[]} weights
 * @param {boolean} isNumbered
 */
function paint(buttons, weights, isNumbered) {
  buttons.forEach((one, place) => {
    const weight = weights[place] ?? 0;
    one.style.setProperty("--w", weight.toFixed(3));
    if (isNumbered && weight >= NUMBERED) one.dataset.weight = weight.toFixed(2).replace(/^0/, "");
    else delete one.dataset.weight;
  });
}

/**
 * @param {HTMLElement} box
 * @param {Element} curves
 * @param {{w: number, s: number, t: number}[]} pairs
 * @param {HTMLButtonElement[]} sources
 * @param {HTMLButtonElement[]} steps
 */
function draw(box, curves, pairs, sources, steps) {
  const zero = box.getBoundingClientRect();
  curves.setAttribute("viewBox", `0 0 ${zero.width} ${zero.height}`);
  const lines = pairs.map(({ w, s, t }) => {
    const a = sources[s].getBoundingClientRect();
    const b = steps[t].getBoundingClientRect();
    const [x, y] = [a.left + a.width / 2 - zero.left, a.bottom - zero.top];
    const [u, v] = [b.left + b.width / 2 - zero.left, b.top - zero.top];
    const middle = (y + v) / 2;
    const d = `M${x} ${y}C${x} ${middle} ${u} ${middle} ${u} ${v}`;
    return svg("path", { d, "stroke-width": 1 + 7 * w, "stroke-opacity": 0.12 + 0.6 * w });
  });
  curves.replaceChildren(...lines);
}
