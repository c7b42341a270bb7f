"""Confusion counts of labels, and the macro-averaged F₁. A line is a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.bootstrap import interval, resampled
from dragoman.metrics.corpus_score import CorpusScore


class Confusion(NamedTuple):
    """The label of each example and the one that was predicted, as indices into `labels`."""

    labels: list[str]
    wanted: NDArray[np.int64]
    predicted: NDArray[np.int64]

    def counts(self, ids: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return how often each label (row) was predicted as each (column)."""
        size = len(self.labels)
        cells = self.wanted[ids] * size + self.predicted[ids]
        return np.bincount(cells, minlength=size * size).reshape(size, size)

    def samples(self) -> NDArray[np.float64]:
        return np.array([macro_f1_of(self.counts(ids)) for ids in resampled(len(self.wanted))])

    def score(self) -> CorpusScore:
        """Return macro-F₁ in percent."""
        return CorpusScore(macro_f1_of(self.counts()), interval(self.samples()))

    def most_confused(self) -> list[tuple[str, str, int]]:
        """Return label, wrong prediction and count, by decreasing count."""
        wrong = self.counts() * (1 - np.eye(len(self.labels), dtype=np.int64))
        found = [(self.labels[i], self.labels[j], int(wrong[i, j])) for i, j in np.argwhere(wrong)]
        return sorted(found, key=lambda one: -one[2])


def macro_f1(hypotheses: Sequence[str], references: Sequence[str]) -> Confusion:
    """Return the confusion counts, whose score is the mean F₁ of the labels."""
    labels = sorted({*hypotheses, *references})
    number = {label: index for index, label in enumerate(labels)}
    pairs = [(number[r], number[h]) for h, r in zip(hypotheses, references, strict=True)]
    wanted, predicted = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Confusion(labels, wanted, predicted)


def f1_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 2 tp / (2 tp + fp + fn) of each label, in percent; nan for one that does not occur."""
    tp, occurrences = np.diag(counts), counts.sum(axis=0) + counts.sum(axis=1)
    return np.where(occurrences > 0, 200 * tp / np.maximum(occurrences, 1), np.nan)


def macro_f1_of(counts: NDArray[np.int64]) -> float:
    """Return the mean F₁ of the labels that occur, in percent."""
    return float(np.nanmean(f1_of(counts)))
