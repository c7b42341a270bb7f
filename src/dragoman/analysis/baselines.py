"""What a score is worth: the scores of outputs that need no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from dragoman.data.pair import Pair
from dragoman.metrics.length_buckets import lengths_of
from dragoman.text.running_words import running_words

TOGETHER = 1000  # training pairs that are compared together

COPY, NEAREST = "copy of the source", "nearest training pair"


def baseline_outputs(sources: Sequence[str], training: Sequence[Pair]) -> dict[str, list[str]]:
    """Return the outputs of each baseline; without training pairs there is no nearest one."""
    outputs = {COPY: list(sources)}
    if training:
        outputs[NEAREST] = [pair.tgt for pair in nearest(sources, training)]
    return outputs


def nearest(sources: Sequence[str], training: Sequence[Pair]) -> list[Pair]:
    """Return for each source the training pair whose source is nearest, the first if several are.

    Nearest is by insertions and deletions of words, relative to both lengths; of characters if most sources
    are one word.
    """
    by_words = lengths_of(sources)[0] == "words"
    number: dict[str, int] = {}

    def units(text: str) -> list[int]:
        """Return a number for each word: they are compared faster than strings."""
        return [number.setdefault(unit, len(number)) for unit in (running_words(text) if by_words else text)]

    wanted = [units(source) for source in sources]
    best, score = np.zeros(len(sources), np.int64), np.full(len(sources), -1.0)
    for start in range(0, len(training), TOGETHER):
        some = [units(pair.src) for pair in training[start : start + TOGETHER]]
        near = cdist(wanted, some, scorer=Indel.normalized_similarity, dtype=np.float32)
        highest = near.max(axis=1)
        best = np.where(highest > score, start + near.argmax(axis=1), best)
        score = np.maximum(highest, score)
    return [training[place] for place in best.tolist()]
