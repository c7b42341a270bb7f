"""Samples over arrays are those over tensors: the same tokens from the same seed."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.search import topk
from dragoman.search.numpy.processors import min_length
from dragoman.search.numpy.sample import ArraySampleSearch, keep_top_k, keep_top_p, sampled
from dragoman.search.processors.min_length import MinLength
from dragoman.search.sample import SampleSearch
from support.array_steppers import Arrays
from support.steppers import Bigram, Prefixes, Table, sentences

SOURCES = (1, 2, 3, 4, 5, 6, 7)
CHOICES: list[dict[str, Any]] = [
    {},
    {"temperature": 0.3},
    {"top_k": 3},
    {"top_p": 0.7},
    {"temperature": 1.7, "top_k": 5, "top_p": 0.8, "seed": 9},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_samples_are_the_same(choice: dict[str, Any]) -> None:
    src, keep = sentences(*SOURCES)
    for stepper in (Table(vocabulary=9, seed=1), Table(vocabulary=400, seed=2), Bigram(), Prefixes()):
        there = SampleSearch(size=4, max_length=12, **choice)(stepper, src, keep)
        here = ArraySampleSearch(size=4, max_length=12, **choice)(Arrays(stepper), src.numpy(), keep.numpy())
        assert [[h.tokens for h in row] for row in here] == [[h.tokens for h in row] for row in there]
        assert [[h.finished for h in row] for row in here] == [[h.finished for h in row] for row in there]
        for mine, theirs in zip(chain(*here), chain(*there), strict=True):
            assert (mine.score, mine.log_p) == pytest.approx((theirs.score, theirs.log_p), abs=1e-5)


def test_rules_apply_to_samples() -> None:
    src, keep = sentences(*SOURCES)
    there = SampleSearch(size=2, max_length=9)(MinLength(Bigram(), n=4), src, keep)
    here = ArraySampleSearch(size=2, max_length=9)(
        Arrays(Bigram()), src.numpy(), keep.numpy(), [min_length(4)]
    )
    assert [[h.tokens for h in row] for row in here] == [[h.tokens for h in row] for row in there]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.floats(0.05, 1.0))
def test_the_same_tokens_are_kept_and_drawn(seed: int, k: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    log_p = np.log(rng.dirichlet(np.full(10, 0.5), size=6)).astype(np.float32).round(1)  # with ties
    here, there = log_p.reshape(3, 2, 10), torch.from_numpy(log_p)
    np.testing.assert_array_equal(keep_top_k(here, k).reshape(6, 10), topk.keep_top_k(there, k).numpy())
    np.testing.assert_array_equal(keep_top_p(here, p).reshape(6, 10), topk.keep_top_p(there, p).numpy())
    u = rng.random(6)
    drawn = topk.sample_index(there, torch.from_numpy(u))
    assert sampled(here, u.reshape(3, 2)).ravel().tolist() == drawn.tolist()
