/** The controls of the search: a beam or samples, beam size, length penalty, temperature, seed. */

/** @import { Search } from "./types.js" */

import { button, html } from "./dom.js";

const WAIT = 250; // milliseconds after the last move of a slider before a search begins

/** @typedef {{kind: "beam" | "sample", size: number, length_penalty: number, temperature: number, seed: number}} Settings */

/**
 * The settings of a model as the page has them: greedy search is a beam of one.
 * @param {Search} search
 * @returns {Settings}
 */
export function settingsOf({ kind, size, length_penalty, temperature, seed }) {
  const isSample = kind === "sample" || kind === "mbr";
  return { kind: isSample ? "sample" : "beam", size: kind === "greedy" ? 1 : size, length_penalty, temperature, seed };
}

/**
 * The settings as a request has them.
 * @param {Settings} settings
 */
export function searchOf({ kind, size, length_penalty, temperature, seed }) {
  if (kind === "sample") return { kind, temperature, seed };
  return size === 1 ? { kind: "greedy", length_penalty } : { kind, size, length_penalty };
}

/**
 * Fill the section of the controls. `onMove` follows a slider while it moves, `onChange` asks for a search.
 * @param {HTMLElement} section
 * @param {Settings} settings changed in place
 * @param {() => void} onMove
 * @param {() => void} onChange
 */
export function controls(section, settings, onMove, onChange) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(onChange, WAIT);
  };
  /** @param {"size" | "length_penalty" | "temperature"} name @param {number} value */
  const set = (name, value) => {
    settings[name] = value;
    onMove();
    later();
  };
  const beam = html(
    "div",
    { class: "sliders" },
    slider("Beam size", settings.size, [1, Math.max(12, settings.size), 1], (value) => set("size", value)),
    slider("Length penalty", settings.length_penalty, [0, 2, 0.05], (value) => set("length_penalty", value)),
  );
  const again = button("Draw again", () => {
    settings.seed += 1;
    onChange();
  });
  const sample = html(
    "div",
    { class: "sliders" },
    slider("Temperature", settings.temperature, [0.1, 2, 0.05], (value) => set("temperature", value)),
    again,
  );
  const show = () => {
    beam.hidden = settings.kind !== "beam";
    sample.hidden = settings.kind !== "sample";
  };
  const kinds = /** @type {const} */ (["beam", "sample"]).map((kind) => {
    const radio = html("input", { type: "radio", name: "kind", value: kind, checked: settings.kind === kind });
    radio.addEventListener("change", () => {
      settings.kind = kind;
      show();
      onChange();
    });
    return html("label", {}, radio, html("span", {}, kind === "beam" ? "Beam search" : "Sample"));
  });
  section.replaceChildren(html("div", { class: "kinds", role: "radiogroup", "aria-label": "Kind of search" }, ...kinds), beam, sample);
  show();
}

/**
 * @param {string} name
 * @param {number} value
 * @param {[number, number, number]} range from, to and step
 * @param {(value: number) => void} onInput
 * @returns {HTMLElement}
 */
function slider(name, value, [min, max, step], onInput) {
  const input = html("input", { type: "range", min, max, step, value });
  const format = () => (step < 1 ? Number(input.value).toFixed(2) : input.value);
  const shown = html("output", {}, format());
  input.addEventListener("input", () => {
    shown.textContent = format();
    onInput(Number(input.value));
  });
  return html("label", { class: "slider" }, html("span", {}, name), input, shown);
}
