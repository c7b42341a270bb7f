/** The data that the page and the models exchange: see what_if.py. Steps and source positions count from 0. */

/** @typedef {{id: number, shown: string, space: boolean}} Token */
/** @typedef {Token & {p: number}} Alternative */
/** @typedef {Alternative & {entropy: number, alternatives: Alternative[]}} Step */
/** @typedef {{layer: number, mean: number[][], heads: number[][][]}} AttentionLayer */

/**
 * A candidate of the search: `token` after the path of `parent`, which is 0 for the first step.
 * @typedef {{number: number, parent: number, step: number, group: number, id: number, token: string, space: boolean,
 *   p: number, log_p: number, score: number, fate: "open" | "ended" | "pruned", why: string}} BeamNode
 */
/** @typedef {{nodes: BeamNode[], best: number[]}} BeamTree */

/**
 * @typedef {{output: string, truncated: boolean, source: Token[], sourceIsRightToLeft: boolean, steps: Step[],
 *   outputIsRightToLeft: boolean, attention: AttentionLayer[], beam: BeamTree | null}} Answer
 */

/** @typedef {"power" | "gnmt"} LengthNorm */
/**
 * @typedef {{kind: "greedy" | "beam" | "sample" | "mbr", size: number, length_penalty: number,
 *   length_norm: LengthNorm, temperature: number, seed: number}} Search
 */
/** @typedef {{name: string, parameters: number, search: Search}} Model */
/** @typedef {{text: string, models: Model[]}} Models */

/** @typedef {{name: string, formula: string, labels: string[], values: number[], norm: number}} Equation */
/** @typedef {{step: number, heads: number, head: number, equations: Equation[]}} Equations */

/** @typedef {{id: number, shown: string}} Named */

/**
 * What the reader has changed: the tokens that the output begins with, tokens at later steps, tokens that a
 * step may not write, words that may not occur, and the source token that a step attends to.
 * @typedef {{beginning: Token[], pins: Record<number, Named>, avoid: Record<number, Named[]>, forbid: string[],
 *   attend: Record<number, Named>}} Decisions
 */

export {};
