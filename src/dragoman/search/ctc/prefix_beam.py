"""Prefix beam search: the most probable labellings of a CTC network, with a language model if there is one.

Each prefix of a labelling carries two sums over its paths, of those that end with a blank and those that end
with its last label, because only the first may continue with that label again (Graves 2012, section 7.5;
Hannun et al. 2014, algorithm 1). The sums are exact as long as no prefix is dropped from the beam.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.search.ctc.best_path import Floats
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import refuse_nan
from dragoman.text.specials import EOS

Ints = NDArray[np.int64]
# log p of every entry of the vocabulary after a prefix, [V − 1], including that of </s> at its id
Scorer = Callable[[tuple[int, ...]], Floats]
ROOT = 0  # the empty prefix
LOWEST = -1e30


class Fusion(NamedTuple):
    """Rank by log p(l | x) + weight · log p_lm(l </s>) + bonus · |l| (Hannun et al. 2014, eq. 2)."""

    scorer: Scorer
    weight: float
    bonus: float = 0.0


class Prefixes:
    """A tree of prefixes with numbers, so that two ways to the same prefix have the same number."""

    def __init__(self, fusion: Fusion | None, labels: int) -> None:
        self.tokens: list[tuple[int, ...]] = [()]
        self.parent = [-1]
        self.prior = [0.0]  # the sum of weight · log p_lm + bonus over the labels
        self._children: dict[tuple[int, int], int] = {}
        self._fusion = fusion
        self._no_prior = np.zeros(labels)
        self._next_prior: dict[int, Floats] = {}

    def child(self, node: int, label: int) -> int:
        if (node, label) not in self._children:
            self._children[node, label] = len(self.tokens)
            self.tokens.append((*self.tokens[node], label))
            self.parent.append(node)
            self.prior.append(self.prior[node] + float(self.next_prior(node)[label]))
        return self._children[node, label]

    def next_prior(self, node: int) -> Floats:
        """Return what each label adds to the score of the prefix, [V − 1]."""
        if self._fusion is None:
            return self._no_prior
        if node not in self._next_prior:
            log_p = np.maximum(self._fusion.scorer(self.tokens[node]), LOWEST)  # 0 · −∞ would be NaN
            self._next_prior[node] = self._fusion.weight * log_p + self._fusion.bonus
        return self._next_prior[node]

    def end_prior(self, node: int) -> float:
        """Return the prior of the prefix as a whole text, with that of </s>, which earns no bonus."""
        if self._fusion is None:
            return 0.0
        return self.prior[node] + float(self.next_prior(node)[EOS]) - self._fusion.bonus


class Beam(NamedTuple):
    """Prefixes by number, with log p of their paths that end with a blank and with their last label."""

    nodes: Ints
    log_blank: Floats
    log_label: Floats


def prefix_beam(
    log_y: Floats, size: int, *, nbest: int = 1, fusion: Fusion | None = None
) -> list[Hypothesis]:
    """Return the best labellings for log y of [S V], the best first; `size` prefixes are kept at each frame.

    The blank is the last of the V labels.
    """
    refuse_nan(float(log_y.sum()))
    log_y = log_y.astype(np.float64)
    prefixes = Prefixes(fusion, log_y.shape[1] - 1)
    beam = Beam(np.array([ROOT]), np.zeros(1), np.full(1, -np.inf))
    for y in log_y:
        beam = advance(beam, y, prefixes, size)
    log_p = np.logaddexp(beam.log_blank, beam.log_label)
    found = [
        Hypothesis(prefixes.tokens[node], p + prefixes.end_prior(node), p, finished=True)
        for node, p in zip(beam.nodes.tolist(), log_p.tolist(), strict=True)
    ]
    return sorted(found, key=lambda h: -h.score)[:nbest]


def advance(beam: Beam, y: Floats, prefixes: Prefixes, size: int) -> Beam:
    """Return the beam after one more frame with log y of [V]."""
    nodes, log_blank, log_label = beam
    tokens = [prefixes.tokens[node] for node in nodes.tolist()]
    last = np.array([row[-1] if row else -1 for row in tokens])
    parent = np.array([prefixes.parent[node] for node in nodes.tolist()])
    total = np.logaddexp(log_blank, log_label)
    longer = total[:, None] + y[:-1]  # one more label
    again = np.flatnonzero(last >= 0)
    longer[again, last[again]] = log_blank[again] + y[last[again]]
    log_blank = total + y[-1]
    log_label = np.where(last >= 0, log_label + y[last], -np.inf)
    # A prefix of the beam that is one label longer than another receives the paths of both.
    grown, source = np.nonzero(parent[:, None] == nodes)
    log_label[grown] = np.logaddexp(log_label[grown], longer[source, last[grown]])
    longer[source, last[grown]] = -np.inf
    prior = np.array([prefixes.prior[node] for node in nodes.tolist()])
    after = np.stack([prefixes.next_prior(node) for node in nodes.tolist()])
    ranked = np.concatenate(
        [np.logaddexp(log_blank, log_label) + prior, (longer + prior[:, None] + after).ravel()]
    )
    best = largest(ranked, size)
    same, new = best[best < len(nodes)], best[best >= len(nodes)] - len(nodes)
    rows, labels = np.divmod(new, longer.shape[1])
    pairs = zip(nodes[rows].tolist(), labels.tolist(), strict=True)
    children = np.array([prefixes.child(node, label) for node, label in pairs], dtype=np.int64)
    return Beam(
        np.concatenate([nodes[same], children]),
        np.concatenate([log_blank[same], np.full(len(new), -np.inf)]),
        np.concatenate([log_label[same], longer[rows, labels]]),
    )


def largest(scores: Floats, size: int) -> Ints:
    """Return the indices of the largest scores above −∞, in increasing order."""
    best = np.argpartition(-scores, size - 1)[:size] if size < len(scores) else np.arange(len(scores))
    return np.sort(best[scores[best] > -np.inf])
