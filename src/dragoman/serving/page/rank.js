/** Rank the hypotheses of a finished search by another length penalty, without searching again. */

/** @import { BeamTree, LengthNorm } from "./types.js" */

/** @typedef {{alpha: number, norm: LengthNorm}} Penalty */

/**
 * Σ log p / tᵅ, or Σ log p / ((5 + t) / 6)ᵅ: see search/scores.py. The length t includes the end.
 * @param {number} logP
 * @param {number} length
 * @param {Penalty} penalty
 * @returns {number}
 */
export function normalised(logP, length, { alpha, norm }) {
  const base = norm === "gnmt" ? (5 + length) / 6 : length;
  return logP / base ** alpha;
}

/**
 * The hypotheses that have ended, and those that were returned without an end, best first. What a score had
 * beyond the length penalty of its search, such as a penalty for coverage, it keeps.
 * @param {BeamTree} tree
 * @param {Penalty} searched that of the search
 * @param {Penalty} wanted
 * @returns {{number: number, score: number}[]}
 */
export function ranked(tree, searched, wanted) {
  const returned = new Set(tree.best);
  const isSame = searched.alpha === wanted.alpha && searched.norm === wanted.norm;
  return tree.nodes
    .filter(({ number, fate }) => fate === "ended" || returned.has(number))
    .map(({ number, step, log_p, score }) => {
      const more = score - normalised(log_p, step, searched);
      return { number, score: isSame ? score : normalised(log_p, step, wanted) + more };
    })
    .sort((a, b) => b.score - a.score || a.number - b.number);
}

/**
 * The numbers of the candidates from the first step to this one.
 * @param {BeamTree} tree
 * @param {number} number
 * @returns {number[]}
 */
export function path(tree, number) {
  const found = [];
  for (let at = number; at; at = tree.nodes[at - 1].parent) found.unshift(at);
  return found;
}
