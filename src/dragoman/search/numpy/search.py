"""Greedy and beam search over numpy arrays: equivalents of `greedy` and `beam` for runtimes without torch.

The rules are the same: the same log p gives the same outputs and scores. Finished sentences leave the batch
immediately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.search.hypothesis import Hypothesis, best_of
from dragoman.search.scores import Normalise, refuse_nan
from dragoman.search.stopping import StopRule
from dragoman.text.specials import BOS, EOS, PAD

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
# (sentence numbers, their tokens [B W T] including <s>, log p [B W V]): sets forbidden tokens to −∞ in place
Processor = Callable[[Ints, Ints, Floats], None]

COLUMNS = 256  # into which the sums of a sentence are arranged to find the best of them
LOWEST = np.finfo(np.float32).min


class ArrayState(NamedTuple):
    """`fixed` has one row per sentence, [B …]; `moving` has one entry per hypothesis, [B W …]."""

    fixed: list[NDArray[Any]]
    moving: list[NDArray[Any]]

    def select(self, sentences: Ints, parents: Ints) -> ArrayState:
        """Keep these sentences, [M], with these hypotheses, [M W]."""
        keeps_all = bool(self.moving) and len(sentences) == len(self.moving[0])
        fixed = self.fixed if keeps_all else [x[sentences] for x in self.fixed]
        return ArrayState(fixed, [x[sentences[:, None], parents] for x in self.moving])

    def widened(self, width: int) -> ArrayState:
        return ArrayState(self.fixed, [np.repeat(x, width, axis=1) for x in self.moving])


@runtime_checkable
class ArrayStepper(Protocol):
    def start(self, src: Ints, keep: Bools) -> ArrayState:
        """Return the initial state, with one hypothesis per sentence."""

    def step(self, y: Ints, state: ArrayState) -> tuple[Floats, ArrayState]:
        """Return log p [B W V] after the tokens y [B W], which search may overwrite, and the new state."""


def greedy(
    stepper: ArrayStepper,
    src: Ints,
    keep: Bools,
    *,
    max_length: int,
    normalise: Normalise,
    rules: Sequence[Processor] = (),
) -> list[list[Hypothesis]]:
    """Return one hypothesis per sentence, found in at most `max_length` steps, including </s>."""
    tokens: list[list[int]] = [[] for _ in src]
    log_p = [0.0 for _ in src]
    for sentences, y, p in greedy_steps(stepper, src, keep, max_length=max_length, rules=rules):
        for sentence, token, value in zip(sentences.tolist(), y.tolist(), p.tolist(), strict=True):
            tokens[sentence].append(token)
            log_p[sentence] += value
    return [[ended(t, p, normalise)] for t, p in zip(tokens, log_p, strict=True)]


def ended(tokens: list[int], log_p: float, normalise: Normalise) -> Hypothesis:
    finished = tokens[-1] == EOS
    return Hypothesis(tuple(tokens[: len(tokens) - finished]), normalise(log_p, len(tokens)), log_p, finished)


def greedy_steps(
    stepper: ArrayStepper, src: Ints, keep: Bools, *, max_length: int, rules: Sequence[Processor] = ()
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield at each step the open sentences, the token of each, and its log p."""
    sentences = np.arange(len(src))
    tokens = np.full((len(src), 1, 1), BOS)
    state = stepper.start(src, keep)
    for _ in range(max_length):
        log_p, state = stepper.step(tokens[:, :, -1], state)
        apply_processors(rules, sentences, tokens, log_p)
        y = log_p.argmax(axis=-1)  # the first of equal values: the lowest token id
        p = np.take_along_axis(log_p, y[..., None], axis=-1)[:, 0, 0]
        refuse_nan(float(p.max()))
        yield sentences, y[:, 0], p
        still = np.flatnonzero(y[:, 0] != EOS)
        if not len(still):
            return
        tokens = np.concatenate((tokens, y[..., None]), axis=2)
        if len(still) < len(sentences):
            sentences, tokens = sentences[still], tokens[still]
            state = state.select(still, np.zeros((len(still), 1), np.int64))


def beam(
    stepper: ArrayStepper,
    src: Ints,
    keep: Bools,
    rule: StopRule,
    rules: Sequence[Processor] = (),
) -> list[list[Hypothesis]]:
    """Return the best hypotheses of each sentence, best first, as many as the beam is wide."""
    size, sentences = rule.width, np.arange(len(src))
    found: list[list[Hypothesis]] = [[] for _ in src]
    start = stepper.start(src, keep)
    search(stepper, start.widened(size), sentences, rule, found, rules)
    if rule.stop != "heuristic" or size == 1:
        return found
    greedy: list[list[Hypothesis]] = [[] for _ in src]
    search(stepper, start, sentences, of_one(rule), greedy, rules)
    return [best_of(*pair, size=size) for pair in zip(found, greedy, strict=True)]


def of_one(rule: StopRule) -> StopRule:
    """Return the rule of a beam of width 1, which finds the output of greedy search."""
    return replace(rule, stop="n_best", width=1, n_best=1)


def search(
    stepper: ArrayStepper,
    state: ArrayState,
    sentences: Ints,
    rule: StopRule,
    found: Sequence[list[Hypothesis]],
    rules: Sequence[Processor],
) -> None:
    """Search these sentences from their initial state and add the hypotheses to `found`."""
    size, max_length, normalise = rule.width, rule.max_length, rule.normalise
    tokens = np.full((len(sentences), size, 1), BOS)
    log_p = np.full((len(sentences), size), -np.inf, np.float32)
    log_p[:, 0] = 0.0  # all hypotheses begin alike, so one is enough
    for length in range(1, max_length + 1):
        step, state = stepper.step(tokens[:, :, -1], state)
        apply_processors(rules, sentences, tokens, step)
        best = continuations(log_p, step)
        mine = [found[sentence] for sentence in sentences]
        collect_finished(best, tokens, length, mine, normalise, is_last=length == max_length)
        chosen = best.open()
        is_last = (chosen.log_p[:, 0] == -np.inf) | (length == max_length)
        for place in np.flatnonzero(is_last).tolist():
            if not mine[place]:
                mine[place].extend(stuck(tokens[place], log_p[place], length - 1, normalise))
        open_p = chosen.log_p[:, 0].tolist()
        is_settled = [rule.is_done(h, p, length) for h, p in zip(mine, open_p, strict=True)]
        still = np.flatnonzero(~(is_last | is_settled))
        if not len(still):
            break
        parents = chosen.parent[still]
        tokens = np.concatenate((tokens[still[:, None], parents], chosen.token[still, :, None]), axis=2)
        log_p, sentences, state = chosen.log_p[still], sentences[still], state.select(still, parents)


class BeamCandidates(NamedTuple):
    """The best continuations per sentence, best first; twice the beam width, so that half of them may end."""

    log_p: Floats
    parent: Ints
    token: Ints

    def open(self) -> BeamCandidates:
        """Return the best continuations that do not end, as many as the beam is wide."""
        rank = np.argsort(self.token == EOS, axis=1, kind="stable")[:, : self.token.shape[1] // 2]
        parent, token = (np.take_along_axis(x, rank, axis=1) for x in (self.parent, self.token))
        return BeamCandidates(np.take_along_axis(self.log_p, rank, axis=1), parent, token)


def continuations(p: Floats, log_p: Floats) -> BeamCandidates:
    """Return the 2W largest of p_w + log_p_wv over all w and v, ties in index order.

    Missing ones have log p −∞.
    """
    B, W, V = log_p.shape
    k = 2 * W
    row, index, value = candidates(p, log_p, k)
    order = np.lexsort((index, -value, row))
    row, index, value = row[order], index[order], value[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    is_best = rank < k
    place = row[is_best], rank[is_best]
    best, where = np.full((B, k), -np.inf, np.float32), np.full((B, k), PAD)
    best[place], where[place] = value[is_best], index[is_best]
    return BeamCandidates(best, where // V, where % V)


def candidates(p: Floats, log_p: Floats, k: int) -> tuple[Ints, Ints, Floats]:
    """Return a few sums that include the k best of each sentence: sentence numbers, w · V + v, and the sums.

    Tokens are arranged in columns. The k-th largest column maximum is no larger than the k-th best sum, so
    only columns whose maximum reaches it are searched. Tokens that do not fill a row are single columns.
    """
    B, W, V = log_p.shape
    rows = V // COLUMNS
    width, whole = (COLUMNS, rows * COLUMNS) if rows else (0, 0)
    maxima = log_p[:, :, :whole].reshape(B, W, rows, width).max(axis=2, initial=-np.inf)
    sums = (np.concatenate((maxima, log_p[:, :, whole:]), axis=2) + p[:, :, None]).reshape(B, -1)
    refuse_nan(float(sums.max()))
    least = np.maximum(np.partition(sums, -k, axis=1)[:, -k], LOWEST)
    sentence, place = np.divmod(np.flatnonzero(sums >= least[:, None]), sums.shape[1])
    w, column = np.divmod(place, sums.shape[1] // W)
    is_single = column >= width
    token = column[:, None] + COLUMNS * np.arange(max(rows, 1))
    token[is_single] += whole - width - COLUMNS * np.arange(max(rows, 1))
    value = log_p[sentence[:, None], w[:, None], token] + p[sentence, w][:, None]
    is_large = value >= least[sentence, None]
    is_large[is_single, 1:] = False
    index = w[:, None] * V + token
    return np.broadcast_to(sentence[:, None], token.shape)[is_large], index[is_large], value[is_large]


def collect_finished(
    best: BeamCandidates,
    tokens: Ints,
    length: int,
    found: Sequence[list[Hypothesis]],
    normalise: Normalise,
    *,
    is_last: bool,
) -> None:
    """Add the hypotheses that end among the W best to `found`; at the last step, all W."""
    width = tokens.shape[1]
    ends = ((best.token[:, :width] == EOS) | is_last) & (best.log_p[:, :width] > -np.inf)
    for place, rank in np.argwhere(ends).tolist():
        p, token = float(best.log_p[place, rank]), int(best.token[place, rank])
        y = tokens[place, best.parent[place, rank], 1:].tolist()
        written = tuple(y) if token == EOS else (*y, token)
        found[place].append(Hypothesis(written, normalise(p, length), p, token == EOS))
    for place in np.flatnonzero(ends.any(axis=1)).tolist():
        found[place].sort(key=lambda h: -h.score)
        del found[place][width:]


def stuck(tokens: Ints, log_p: Floats, length: int, normalise: Normalise) -> Iterator[Hypothesis]:
    """Yield the open hypotheses [W T] as they are, if none of them can be continued."""
    for value, row in zip(log_p.tolist(), tokens[:, 1:].tolist(), strict=True):
        if value > -np.inf:
            yield Hypothesis(tuple(row), normalise(value, max(length, 1)), value, False)


def apply_processors(rules: Sequence[Processor], sentences: Ints, tokens: Ints, log_p: Floats) -> None:
    """Mask <pad> and <s>, which are never part of an output, and apply the processors."""
    log_p[..., [PAD, BOS]] = -np.inf
    for rule in rules:
        rule(sentences, tokens, log_p)
