"""Prefix beam search against the sum over all paths, and what a beam and a language model change."""

import math
from collections import defaultdict
from functools import cache
from itertools import groupby, product
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ModelError
from dragoman.search.ctc.best_path import best_path, collapse
from dragoman.search.ctc.prefix_beam import Fusion, prefix_beam
from dragoman.text.specials import EOS

UNLIMITED = 10**6


def random_case(seed: int) -> Any:
    """log y of 1 to 5 frames and 1 to 3 labels and the blank; every tenth has a label of probability 0."""
    draw = np.random.default_rng(seed)
    logits = 2 * draw.standard_normal((draw.integers(1, 6), draw.integers(2, 5)))
    if seed % 10 == 0:
        logits[:, 0] = -np.inf
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def exhaustive(log_y: Any) -> dict[tuple[int, ...], float]:
    """log p of every labelling, summed over all V^S paths."""
    S, V = log_y.shape
    total: dict[tuple[int, ...], float] = defaultdict(float)
    paths = list(product(range(V), repeat=S))
    for path, p in zip(paths, np.exp(log_y[range(S), paths].sum(axis=1)).tolist(), strict=True):
        total[tuple(label for label, _ in groupby(path) if label != V - 1)] += p
    return {l: math.log(p) for l, p in total.items() if p > 0}


@cache
def lm(prefix: tuple[int, ...]) -> Any:
    """A language model that depends on the whole prefix, over 4 labels of which the last is </s>."""
    logits = np.random.default_rng([7, *prefix]).standard_normal(EOS + 1)
    return logits - np.logaddexp.reduce(logits)


def test_500_cases_equal_exhaustive_search() -> None:
    """An unlimited beam returns every labelling with its probability, for the seeds 0 to 499."""
    for seed in range(500):
        log_y = random_case(seed)
        expected = exhaustive(log_y)
        found = prefix_beam(log_y, UNLIMITED, nbest=UNLIMITED)
        assert {h.tokens for h in found} == expected.keys(), seed
        assert [h.log_p for h in found] == sorted((h.log_p for h in found), reverse=True)
        np.testing.assert_allclose([h.log_p for h in found], [expected[h.tokens] for h in found], atol=1e-10)


def test_fused_scores_equal_exhaustive_search() -> None:
    for seed in range(50):
        log_y = random_case(seed)[:3]
        log_y = np.pad(log_y[:, :-1], ((0, 0), (0, 4 - log_y[:, :-1].shape[1])), constant_values=-9.0)
        log_y = np.concatenate([log_y, random_case(seed)[:3, -1:]], axis=1)
        log_y -= np.logaddexp.reduce(log_y, axis=1, keepdims=True)

        def score(l: tuple[int, ...], log_p: float) -> float:
            prior = sum(lm(l[:n])[label] for n, label in enumerate((*l, EOS)))
            return log_p + 0.7 * prior + 0.3 * len(l)

        expected = {l: score(l, log_p) for l, log_p in exhaustive(log_y).items()}
        found = prefix_beam(log_y, UNLIMITED, nbest=UNLIMITED, fusion=Fusion(lm, 0.7, 0.3))
        assert {h.tokens for h in found} == expected.keys()
        np.testing.assert_allclose([h.score for h in found], [expected[h.tokens] for h in found], atol=1e-9)


def test_language_model_and_bonus_change_the_best_labelling() -> None:
    log_y = np.log([[0.5, 0.45, 1e-9, 1e-9, 0.05]])
    never_0 = np.array([-np.inf, -1.0, -1.2, -1.3])
    assert prefix_beam(log_y, 8)[0].tokens == (0,)
    assert prefix_beam(log_y, 8, fusion=Fusion(lambda prefix: never_0, 1.0))[0].tokens == (1,)
    assert prefix_beam(log_y, 8, fusion=Fusion(lambda prefix: never_0, 0.0, -9.0))[0].tokens == ()


def test_limited_beam_never_overstates() -> None:
    for seed in range(100):
        log_y = random_case(seed)
        expected = exhaustive(log_y)
        found = prefix_beam(log_y, 3, nbest=3)
        assert len(found) <= 3
        assert all(h.log_p <= expected[h.tokens] + 1e-10 for h in found)


def test_sums_over_paths_where_the_best_path_does_not() -> None:
    """The classic case: blank is the best label of both frames, but p(a) = 0.64 (Graves 2012, figure 7.5)."""
    log_y = np.log([[0.4, 0.6], [0.4, 0.6]])
    assert best_path(log_y).tokens == ()
    best = prefix_beam(log_y, 4)[0]
    assert best.tokens == (0,)
    assert np.exp(best.log_p) == pytest.approx(0.64)


def test_best_path_equals_the_maximum_over_paths() -> None:
    for seed in range(100):
        log_y = random_case(seed)
        S, V = log_y.shape
        best = max(product(range(V), repeat=S), key=lambda path: log_y[range(S), path].sum())
        found = best_path(log_y)
        assert found.tokens == collapse(best, V - 1)
        assert found.log_p == pytest.approx(log_y[range(S), best].sum())


def test_nan_is_refused() -> None:
    with pytest.raises(ModelError, match="NaN"):
        prefix_beam(np.full((2, 3), np.nan), 4)
    with pytest.raises(ModelError, match="NaN"):
        best_path(np.full((2, 3), np.nan))
