"""Forced alignment against the best of all paths for a labelling."""

from itertools import product

import numpy as np
import pytest

from dragoman.errors import DataError
from dragoman.search.ctc.align import AlignedLabel, align, viterbi
from dragoman.search.ctc.best_path import collapse


def test_equals_the_best_of_all_paths() -> None:
    for seed in range(100):
        draw = np.random.default_rng(seed)
        S, V = int(draw.integers(1, 7)), int(draw.integers(2, 4))
        log_y = np.log(draw.dirichlet(np.ones(V), size=S))
        by_labelling: dict[tuple[int, ...], float] = {}
        for path in product(range(V), repeat=S):
            l = collapse(path, V - 1)
            by_labelling[l] = max(by_labelling.get(l, -np.inf), log_y[range(S), path].sum())
        for l, expected in by_labelling.items():
            labels = [l[s // 2] if s % 2 else V - 1 for s in viterbi(log_y, l)]
            assert collapse(labels, V - 1) == l
            assert log_y[range(S), labels].sum() == pytest.approx(expected)


def test_frames_and_confidence() -> None:
    """_ a a _ a b b: the frames of each label, and the mean of its probability over them."""
    path, p = [2, 0, 0, 2, 0, 1, 1], [0.9, 0.6, 0.8, 0.9, 0.7, 0.9, 0.5]
    y = np.full((7, 3), 0.0)
    for t, (label, value) in enumerate(zip(path, p, strict=True)):
        y[t] = (1 - value) / 2
        y[t, label] = value
    found = align(np.log(y), (0, 0, 1))
    assert [a[:3] for a in found] == [(0, 1, 3), (0, 4, 5), (1, 5, 7)]
    assert [a.confidence for a in found] == pytest.approx([0.7, 0.7, 0.7])
    assert align(np.log(y), ()) == []
    assert isinstance(found[0], AlignedLabel)


def test_impossible_text_is_refused() -> None:
    log_y = np.log(np.full((3, 3), 1 / 3))
    assert len(align(log_y, (0, 1, 0))) == 3
    with pytest.raises(DataError, match="The text of 3 labels has no path over 3 frames"):
        align(log_y, (0, 0, 1))
    with pytest.raises(DataError):
        align(log_y, (0, 1, 0, 1, 0, 1, 0, 1))
