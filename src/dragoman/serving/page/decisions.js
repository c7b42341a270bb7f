/** The decisions that a reader has changed: plain data, and functions that return new data. */

/** @import { Decisions, Named, Step, Token } from "./types.js" */

/** @returns {Decisions} */
export function none() {
  return { beginning: [], pins: {}, avoid: {}, forbid: [], attend: {} };
}

/**
 * Write a token at a step, after the output as it is; what follows is decoded again.
 * @param {Decisions} decisions
 * @param {Step[]} steps
 * @param {number} step
 * @param {Token} token
 * @returns {Decisions}
 */
export function choose(decisions, steps, step, token) {
  const beginning = [...steps.slice(0, step), token].map(({ id, shown, space }) => ({ id, shown, space }));
  const pins = Object.fromEntries(Object.entries(decisions.pins).filter(([place]) => Number(place) > step));
  return { ...decisions, beginning, pins };
}

/**
 * Keep a token at its step, whatever precedes it; or let it go.
 * @param {Decisions} decisions
 * @param {number} step
 * @param {Named} token
 * @returns {Decisions}
 */
export function pin(decisions, step, { id, shown }) {
  const { [step]: before, ...pins } = decisions.pins;
  return { ...decisions, pins: before ? pins : { ...pins, [step]: { id, shown } } };
}

/**
 * Do not write a token at a step. The output is free from that step on.
 * @param {Decisions} decisions
 * @param {number} step
 * @param {Named} token
 * @returns {Decisions}
 */
export function avoid(decisions, step, { id, shown }) {
  const before = (decisions.avoid[step] ?? []).filter((one) => one.id !== id);
  const { [step]: _, ...pins } = decisions.pins;
  const beginning = decisions.beginning.slice(0, step);
  return { ...decisions, beginning, pins, avoid: { ...decisions.avoid, [step]: [...before, { id, shown }] } };
}

/**
 * Write a word nowhere. The output is free from its step on.
 * @param {Decisions} decisions
 * @param {number} step
 * @param {string} word
 * @returns {Decisions}
 */
export function forbid(decisions, step, word) {
  const { [step]: _, ...pins } = decisions.pins;
  const forbidden = [...new Set([...decisions.forbid, word])];
  return { ...decisions, beginning: decisions.beginning.slice(0, step), pins, forbid: forbidden };
}

/**
 * Let a step attend to one source token only; null lets it attend as it would.
 * @param {Decisions} decisions
 * @param {number} step
 * @param {Named | null} source
 * @returns {Decisions}
 */
export function attend(decisions, step, source) {
  const { [step]: _, ...others } = decisions.attend;
  return { ...decisions, attend: source ? { ...others, [step]: source } : others };
}

/**
 * What a request for these decisions has.
 * @param {Decisions} decisions
 */
export function asked(decisions) {
  /** @param {Record<number, Named>} named @returns {Record<string, number>} */
  const ids = (named) => Object.fromEntries(Object.entries(named).map(([step, { id }]) => [step, id]));
  const beginning = Object.fromEntries(decisions.beginning.map(({ id }, step) => [step, id]));
  const avoided = Object.entries(decisions.avoid).map(([step, tokens]) => [step, tokens.map(({ id }) => id)]);
  return {
    write: { ...beginning, ...ids(decisions.pins) },
    avoid: Object.fromEntries(avoided),
    forbid: decisions.forbid,
    attend: ids(decisions.attend),
  };
}

/**
 * Every decision: what it says, the word it says it of, and the decisions without it.
 * @param {Decisions} decisions
 * @returns {{said: string, word: string, without: Decisions}[]}
 */
export function listed(decisions) {
  const found = [];
  if (decisions.beginning.length) {
    const word = joined(decisions.beginning);
    found.push({ said: "Begins with", word, without: { ...decisions, beginning: [] } });
  }
  for (const [step, token] of Object.entries(decisions.pins)) {
    found.push({ said: `Step ${Number(step) + 1} is`, word: token.shown, without: pin(decisions, Number(step), token) });
  }
  for (const [step, tokens] of Object.entries(decisions.avoid)) {
    for (const token of tokens) {
      const others = tokens.filter(({ id }) => id !== token.id);
      const { [Number(step)]: _, ...rest } = decisions.avoid;
      const left = others.length ? { ...rest, [Number(step)]: others } : rest;
      found.push({ said: `Step ${Number(step) + 1} is not`, word: token.shown, without: { ...decisions, avoid: left } });
    }
  }
  for (const word of decisions.forbid) {
    const left = decisions.forbid.filter((one) => one !== word);
    found.push({ said: "Nowhere", word, without: { ...decisions, forbid: left } });
  }
  for (const [step, source] of Object.entries(decisions.attend)) {
    const without = attend(decisions, Number(step), null);
    found.push({ said: `Step ${Number(step) + 1} attends to`, word: source.shown, without });
  }
  return found;
}

/**
 * The text of some tokens.
 * @param {Token[]} tokens
 * @returns {string}
 */
export function joined(tokens) {
  return tokens.map(({ shown, space }, place) => (space && place ? ` ${shown}` : shown)).join("");
}

/**
 * The word that a token is a part of: the tokens from the last space before it to the next one after it.
 * @param {Step[]} steps
 * @param {number} step
 * @returns {string}
 */
export function wordAt(steps, step) {
  let first = step;
  while (first > 0 && !steps[first].space) first -= 1;
  let end = step + 1;
  while (end < steps.length && !steps[end].space && steps[end].shown !== "</s>") end += 1;
  return joined(steps.slice(first, end));
}
