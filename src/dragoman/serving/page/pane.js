/** One model on the page: its output for the text, the decisions that were changed, and what follows. */

/** @import { Answer, Decisions, Equations, Model, Step } from "./types.js" */
/** @import { Settings } from "./settings.js" */

import { ask } from "./api.js";
import { asked, attend, listed, none } from "./decisions.js";
import { button, html, isolated } from "./dom.js";
import { beamTree, hypothesisTable } from "./hypotheses.js";
import { numbersPanel } from "./numbers.js";
import { download } from "./save.js";
import { searchOf } from "./settings.js";
import { alignment } from "./tokens.js";
import { wordPanel } from "./word.js";

export class Pane {
  /**
   * @param {number} number
   * @param {Model} model
   * @param {Settings} settings
   * @param {(doing: () => Promise<void>) => Promise<void>} guard shows that the page waits, and refusals
   * @param {(said: string, kind?: "seen" | "heard" | "refusal") => void} say
   */
  constructor(number, model, settings, guard, say) {
    this.number = number;
    this.model = model;
    this.settings = settings;
    this.guard = guard;
    this.say = say;
    this.text = "";
    /** @type {Decisions} */
    this.decisions = none();
    /** @type {Answer | null} */
    this.answer = null;
    this.searched = { alpha: settings.length_penalty, norm: model.search.length_norm };
    /** @type {number | null} */
    this.selected = null;
    /** @type {{found: Equations, at: number} | null} */
    this.numbers = null;
    this.view = "mean"; // of the last layer, or "layer.head"
    this.element = html("section", { class: "pane", "aria-labelledby": `model-${number}` });
  }

  /** What a request for the present state has. */
  get request() {
    return { model: this.number, text: this.text, search: searchOf(this.settings), ...asked(this.decisions) };
  }

  /**
   * Decode another text, as the model does by itself. The word that it is least sure of is selected.
   * @param {string} text
   */
  async read(text) {
    this.text = text;
    this.decisions = none();
    this.selected = null;
    await this.decode();
    this.selected = leastSure(this.answer?.steps ?? []);
    this.render();
  }

  async decode() {
    const alpha = this.settings.length_penalty;
    /** @type {Answer} */
    const answer = await ask("decode", this.request);
    this.answer = answer;
    this.searched = { alpha, norm: this.model.search.length_norm };
    this.numbers = null;
    if (this.selected !== null && this.selected >= answer.steps.length) this.selected = null;
    this.render();
  }

  /** @param {Decisions} decisions */
  change(decisions) {
    const before = this.decisions;
    this.decisions = decisions;
    return this.guard(async () => {
      try {
        await this.decode();
      } catch (error) {
        this.decisions = before;
        throw error;
      }
      this.say(this.answer ? `${this.model.name}: ${this.answer.output}` : "", "heard");
      this.focus(this.selected ?? 0);
    });
  }

  /** @param {number} step */
  focus(step) {
    const buttons = /** @type {NodeListOf<HTMLElement>} */ (this.element.querySelectorAll(".row.output button"));
    (buttons[step] ?? this.element.querySelector("button"))?.focus();
  }

  /** @param {number} step */
  select(step) {
    this.selected = this.selected === step ? null : step;
    this.numbers = null;
    this.render();
    this.focus(step);
  }

  close() {
    const step = this.selected ?? 0;
    this.selected = null;
    this.numbers = null;
    this.render();
    this.focus(step);
  }

  /** @param {number} place */
  attendTo(place) {
    if (!this.answer || this.selected === null) {
      this.say("Choose an output word first; then choose the source word that it should attend to.");
      return;
    }
    const source = { id: place, shown: this.answer.source[place].shown };
    const isForced = this.decisions.attend[this.selected]?.id === place;
    this.change(attend(this.decisions, this.selected, isForced ? null : source));
  }

  /** @param {number} head @param {number} at */
  showNumbers(head, at) {
    return this.guard(async () => {
      const found = await ask("equations", { ...this.request, step: this.selected ?? 0, head });
      this.numbers = { found, at };
      this.render();
      this.focusNumbers();
    });
  }

  focusNumbers() {
    /** @type {HTMLElement | null} */ (this.element.querySelector(".numbers [aria-current]"))?.focus();
  }

  /** Draw the hypotheses by the length penalty of the slider, without a search. */
  rerank() {
    const { answer } = this;
    const old = this.element.querySelector(".ranked");
    if (!answer?.beam || !old) return;
    const wanted = { alpha: this.settings.length_penalty, norm: this.model.search.length_norm };
    old.replaceChildren(hypothesisTable(answer.beam, this.searched, wanted, (tokens) => {
      this.change({ ...this.decisions, beginning: tokens, pins: {} });
    }));
  }

  render() {
    const { answer } = this;
    if (!answer) return;
    const open = new Map([...this.element.querySelectorAll("details")].map((one) => [one.className, one.open]));
    const output = html("p", { class: "output", dir: "auto" }, answer.output || "(nothing)");
    const title = html("h2", { id: `model-${this.number}` }, this.model.name);
    const size = html("p", { class: "note" }, `${this.model.parameters.toLocaleString("en")} parameters`);
    const parts = [html("div", { class: "heading" }, title, size), output, this.decided(), ...this.inside(answer)];
    this.element.replaceChildren(...parts);
    for (const one of this.element.querySelectorAll("details")) one.open = open.get(one.className) ?? one.open;
    this.rerank();
  }

  /** @returns {HTMLElement} */
  decided() {
    const all = listed(this.decisions);
    const items = all.map(({ said, word, without }) => {
      const undo = button("×", () => this.change(without), { class: "undo", "aria-label": `Undo: ${said} ${word}` });
      return html("li", {}, `${said} `, isolated(word), undo);
    });
    const list = html("ul", { class: "decisions", "aria-label": "Changed decisions" }, ...items);
    if (all.length > 1) list.append(html("li", { class: "all" }, button("Undo all", () => this.change(none()), { class: "quiet undo" })));
    list.classList.toggle("none", !all.length); // it keeps its place: what is below must not move under the pointer
    return list;
  }

  /**
   * @param {Answer} answer
   * @returns {HTMLElement[]}
   */
  inside(answer) {
    if (!answer.steps.length) return [];
    const { decisions, selected } = this;
    const places = [...Object.keys(decisions.pins), ...Object.keys(decisions.avoid), ...Object.keys(decisions.attend)];
    const marked = new Set([...places.map(Number), ...decisions.beginning.map((_, place) => place)]);
    const parts = [
      alignment({
        answer, weights: this.weights(answer), selected, marked,
        onStep: (step) => this.select(step), onSource: (place) => this.attendTo(place),
      }),
    ];
    if (answer.attention.length) parts.push(this.picker(answer));
    if (selected !== null) parts.push(...this.panels(answer, selected));
    if (answer.beam) {
      parts.push(html("details", { class: "hypotheses", open: true }, html("summary", {}, "Hypotheses"), html("div", { class: "ranked" })));
      parts.push(html("details", { class: "beam" }, html("summary", {}, "Beam tree"), beamTree(answer.beam)));
    }
    parts.push(this.files());
    return parts;
  }

  /**
   * @param {Answer} answer
   * @param {number} step
   * @returns {HTMLElement[]}
   */
  panels(answer, step) {
    const { numbers, decisions } = this;
    const word = wordPanel({
      answer, step, decisions, hasSpaces: answer.steps.some(({ space }) => space),
      onChange: (changed) => this.change(changed),
      onNumbers: () => this.showNumbers(0, 0),
      onClose: () => this.close(),
    });
    if (!numbers) return [word];
    const panel = numbersPanel({
      ...numbers, isForced: step in decisions.attend,
      onAt: (at) => {
        this.numbers = { ...numbers, at };
        this.render();
        this.focusNumbers();
      },
      onHead: (head) => this.showNumbers(head, numbers.at),
      onClose: () => {
        this.numbers = null;
        this.render();
        this.focus(step);
      },
    });
    return [word, panel];
  }

  /**
   * The weights that are shown: those of a head, or the mean of the heads of the last layer.
   * @param {Answer} answer
   * @returns {number[][]}
   */
  weights({ attention }) {
    const last = attention[attention.length - 1];
    if (!last) return [];
    const [layer, head] = this.view.split(".").map(Number);
    const chosen = attention[layer] ?? last;
    return chosen.heads[head] ?? chosen.mean;
  }

  /**
   * @param {Answer} answer
   * @returns {HTMLElement}
   */
  picker({ attention }) {
    const several = attention.length > 1;
    const choices = attention.flatMap(({ layer, heads }, place) => [
      { value: `${place}`, said: `${several ? `layer ${layer}, ` : ""}${heads.length ? "mean of heads" : "the only head"}` },
      ...heads.map((_, head) => ({ value: `${place}.${head}`, said: `${several ? `layer ${layer}, ` : ""}head ${head + 1}` })),
    ]);
    const usual = `${attention.length - 1}`;
    const current = this.view === "mean" ? usual : this.view;
    const options = choices.map(({ value, said }) => html("option", { value, selected: value === current }, said));
    const select = html("select", {}, ...options);
    select.addEventListener("change", () => {
      this.view = select.value;
      this.render();
      /** @type {HTMLElement | null} */ (this.element.querySelector(".picker select"))?.focus();
    });
    const found = html("label", { class: "picker" }, "Attention: ", select);
    found.hidden = choices.length < 2;
    return found;
  }

  /** @returns {HTMLElement} */
  files() {
    const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    /** @param {"svg" | "json"} format @param {string} type */
    const save = (format, type) => this.guard(async () => {
      const { content } = await ask("picture", { ...this.request, format, theme });
      const text = format === "json" ? JSON.stringify(content) : content;
      download(`dragoman.${format}`, text, type);
      this.say(`Saved dragoman.${format}`);
    });
    return html(
      "div",
      { class: "files" },
      button("Save picture (.svg)", () => save("svg", "image/svg+xml"), { class: "quiet" }),
      button("Save data (.json)", () => save("json", "application/json"), { class: "quiet" }),
    );
  }
}

/**
 * The step with the highest entropy, the end of the output apart; none if nothing was written.
 * @param {Step[]} steps
 * @returns {number | null}
 */
function leastSure(steps) {
  const words = steps.filter(({ shown }) => shown !== "</s>");
  if (!words.length) return null;
  return steps.indexOf(words.reduce((most, one) => (one.entropy > most.entropy ? one : most)));
}
