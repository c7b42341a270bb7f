/** The panel of a chosen output word: its alternatives, and what can be changed. */

/** @import { Answer, Decisions } from "./types.js" */

import { button, html, isolated, percent } from "./dom.js";
import * as change from "./decisions.js";

const RARE = 0.001;
const SHOWN = 4; // alternatives that are not folded away, however rare

/**
 * @typedef {{answer: Answer, step: number, decisions: Decisions, hasSpaces: boolean,
 *   onChange: (decisions: Decisions) => void, onNumbers: () => void, onClose: () => void}} Word
 */

/**
 * @param {Word} word
 * @returns {HTMLElement}
 */
export function wordPanel(word) {
  const { answer, step, onClose } = word;
  const chosen = answer.steps[step];
  const title = html("h3", {}, `Step ${step + 1}: `, isolated(chosen.shown));
  const facts = `probability ${percent(chosen.p)}, entropy ${chosen.entropy.toFixed(2)} nats`;
  const panel = html(
    "section",
    { class: "word", "aria-label": `Step ${step + 1}` },
    html("div", { class: "heading" }, title, button("Close", onClose, { class: "quiet" })),
    html("p", { class: "note" }, facts),
    html("div", { class: "columns" }, alternatives(word), actions(word)),
  );
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") onClose();
  });
  return panel;
}

/**
 * @param {Word} word
 * @returns {HTMLElement}
 */
function alternatives({ answer, step, decisions, onChange }) {
  const { id: written, alternatives: all } = answer.steps[step];
  /** @param {typeof all} some */
  const list = (some) => html("ol", { class: "choices" }, ...some.map((one) => {
    const bar = html("span", { class: "meter" });
    bar.style.setProperty("--p", String(one.p));
    const act = () => onChange(change.choose(decisions, answer.steps, step, one));
    const choice = button("", act, { class: "choice" });
    if (one.id === written) choice.setAttribute("aria-current", "true");
    if (decisions.avoid[step]?.some(({ id }) => id === one.id)) choice.classList.add("avoided");
    choice.append(isolated(one.shown), " ", bar, html("span", { class: "figure" }, percent(one.p)));
    return html("li", {}, choice);
  }));
  const rare = all.filter(({ id, p }, place) => place >= SHOWN && p < RARE && id !== written);
  const found = html("div", {}, html("h4", {}, "Write instead"), list(all.filter((one) => !rare.includes(one))));
  if (rare.length) {
    found.append(html("details", { class: "rare" }, html("summary", {}, `${rare.length} more, less than 0.1 % each`), list(rare)));
  }
  return found;
}

/**
 * @param {Word} word
 * @returns {HTMLElement}
 */
function actions({ answer, step, decisions, hasSpaces, onChange, onNumbers }) {
  const token = answer.steps[step];
  const isPinned = step in decisions.pins;
  const word = change.wordAt(answer.steps, step);
  const list = html(
    "div",
    { class: "actions" },
    button(isPinned ? "Unpin" : "Pin here", () => onChange(change.pin(decisions, step, token)), {
      "aria-pressed": String(isPinned),
    }),
    button("Not here", () => onChange(change.avoid(decisions, step, token))),
  );
  if (hasSpaces && token.shown !== "</s>") {
    const nowhere = button("", () => onChange(change.forbid(decisions, step, word)));
    nowhere.append("Nowhere: ", isolated(word));
    list.append(nowhere);
  }
  const found = html("div", {}, html("h4", {}, "This word"), list);
  if (answer.attention.length) found.append(html("h4", {}, "Attend only to"), attendTo({ answer, step, decisions, onChange }));
  found.append(html("h4", {}, "Why this word"), button("Show the numbers", onNumbers));
  return found;
}

/**
 * @param {Pick<Word, "answer" | "step" | "decisions" | "onChange">} word
 * @returns {HTMLElement}
 */
function attendTo({ answer, step, decisions, onChange }) {
  const forced = decisions.attend[step];
  const options = answer.source.map(({ shown }, place) =>
    html("option", { value: place, selected: forced?.id === place }, `${place + 1}  ${shown}`),
  );
  const free = html("option", { value: "", selected: !forced }, "as the model does");
  const select = html("select", { "aria-label": "Attend only to" }, free, ...options);
  select.addEventListener("change", () => {
    const place = Number(select.value);
    const source = select.value === "" ? null : { id: place, shown: answer.source[place].shown };
    onChange(change.attend(decisions, step, source));
  });
  return select;
}
