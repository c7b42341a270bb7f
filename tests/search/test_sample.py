"""Sampling: frequencies against the distribution, the same draw alone and in a batch, and its limits."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.protocols import real_ids
from dragoman.search.greedy import greedy_search
from dragoman.search.sample import SampleSearch
from dragoman.search.sample_keys import keys, uniform_at
from dragoman.search.topk import keep_top_k, keep_top_p
from support.exhaustive import exhaustive_search
from support.steppers import Bigram, Prefixes, Script, Table, rescore, sentences

SAMPLES = 10_000
A, B = 4, 5


def critical(df: int, z: float = 3.719) -> float:
    """Where chi-square with `df` degrees is exceeded once in ten thousand (Wilson & Hilferty 1931)."""
    return float(df * (1 - 2 / (9 * df) + z * math.sqrt(2 / (9 * df))) ** 3)


def chi_square(observed: list[int], expected: list[float]) -> float:
    return sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))


@pytest.mark.parametrize("source", [1, 2, 3])
def test_outputs_come_up_as_often_as_they_are_probable(source: int) -> None:
    stepper = Table(seed=1)
    (samples,) = SampleSearch(size=SAMPLES, max_length=4)(stepper, *sentences(source))
    (every,) = exhaustive_search(stepper, *sentences(source), max_length=4)
    counts = Counter((h.tokens, h.finished) for h in samples)
    frequent = [h for h in every if SAMPLES * math.exp(h.log_p) >= 5]
    observed = [counts[h.tokens, h.finished] for h in frequent]
    expected = [SAMPLES * math.exp(h.log_p) for h in frequent]
    observed.append(SAMPLES - sum(observed))  # all that is rare
    expected.append(SAMPLES - sum(expected))
    assert len(frequent) > 5
    assert chi_square(observed, expected) < critical(len(frequent))


@pytest.mark.parametrize("temperature", [1e-46, 5e-324, 1e-38])
def test_a_temperature_that_float32_cannot_hold_is_greedy(temperature: float) -> None:
    stepper, batch = Prefixes(vocabulary=12), sentences(1, 2, 3)
    found = SampleSearch(size=2, max_length=8, temperature=temperature)(stepper, *batch)
    for samples, (best,) in zip(found, greedy_search(stepper, *batch, max_length=8), strict=True):
        assert {sample.tokens for sample in samples} == {best.tokens}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0.4, 0.3, 0.2, 0.1]),
        ({"temperature": 0.5}, [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        ({"top_k": 2}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_p": 0.7}, [4 / 7, 3 / 7, 0, 0]),
        ({"top_p": 0.71}, [4 / 9, 3 / 9, 2 / 9, 0]),
        ({"top_k": 3, "top_p": 0.8}, [4 / 9, 3 / 9, 2 / 9, 0]),  # of the three best, 7/9 is not yet 0.8
        ({"top_p": 0.01}, [1, 0, 0, 0]),
    ],
)
def test_shapes_of_the_distribution_by_hand(options: dict[str, float], expected: list[float]) -> None:
    stepper = Script([0.0, 0.1, 0.0, 0.2, 0.4, 0.3])
    (samples,) = SampleSearch(size=SAMPLES, max_length=1, **options)(stepper, *sentences(1))
    counts = Counter(h.tokens[0] if h.tokens else 3 for h in samples)
    observed = [counts[token] for token in (A, B, 3, 1)]
    some = [(o, SAMPLES * p) for o, p in zip(observed, expected, strict=True) if p]
    assert [o > 0 for o in observed] == [p > 0 for p in expected]
    if len(some) > 1:
        assert chi_square([o for o, _ in some], [e for _, e in some]) < critical(len(some) - 1)


def test_without_temperature_it_is_greedy() -> None:
    stepper, batch = Table(seed=3), sentences(*range(1000))
    cold = SampleSearch(size=1, max_length=10, temperature=1e-6)(stepper, *batch)
    greedy = greedy_search(stepper, *batch, max_length=10)
    assert [c[0].tokens for c in cold] == [g[0].tokens for g in greedy]
    assert [c[0].score for c in cold] == pytest.approx([g[0].score for g in greedy], abs=1e-5)
    one = SampleSearch(size=1, max_length=10, top_k=1)(stepper, *batch)
    assert [o[0].tokens for o in one] == [g[0].tokens for g in greedy]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    sources=st.lists(st.integers(0, 15), min_size=1, max_size=6),
    size=st.integers(1, 3),
    top_p=st.sampled_from([1.0, 0.8]),
)
def test_a_sample_alone_is_the_sample_in_any_batch(
    seed: int, sources: list[int], size: int, top_p: float
) -> None:
    stepper = Bigram(seed=2)
    search = SampleSearch(size=size, max_length=9, top_p=top_p, seed=seed)
    together = search(stepper, *sentences(*sources))
    assert together == [search(stepper, *sentences(source))[0] for source in sources]
    more = SampleSearch(size=size + 2, max_length=9, top_p=top_p, seed=seed)(stepper, *sentences(*sources))
    assert [row[:size] for row in more] == together


def test_padding_does_not_change_what_is_drawn() -> None:
    src, keep = torch.tensor([[5, 7, 3], [5, 3, 0]]), torch.tensor([[1, 1, 1], [1, 1, 0]]).bool()
    together = keys(1, real_ids(src, keep), 2)
    assert together.tolist() == [
        *keys(1, real_ids(src[:1], keep[:1]), 2).tolist(),
        *keys(1, real_ids(src[1:, :2], keep[1:, :2]), 2).tolist(),
    ]
    assert len(set(together.tolist())) == 4
    assert not set(together.tolist()) & set(keys(2, real_ids(src, keep), 2).tolist())


def test_another_seed_draws_others() -> None:
    one, other = (SampleSearch(size=50, max_length=6, seed=s)(Table(), *sentences(1))[0] for s in (1, 2))
    assert one != other


def test_scores_of_samples_are_the_models_whatever_they_are_drawn_from() -> None:
    stepper = Prefixes(seed=2)
    for source, hypotheses in enumerate(
        SampleSearch(size=3, max_length=5, temperature=2.0, top_k=2)(stepper, *sentences(0, 1, 2))
    ):
        for h in hypotheses:
            assert h.log_p == pytest.approx(rescore(stepper, source, h.tokens, finished=h.finished), abs=1e-5)
            assert h.score == pytest.approx(h.log_p / (len(h.tokens) + h.finished))


def test_numbers_are_even_and_independent_of_the_step() -> None:
    many = np.arange(50_000, dtype=np.uint64)
    u = torch.stack([torch.from_numpy(uniform_at(many, step)) for step in range(2)])
    assert float(u.min()) >= 0.0
    assert float(u.max()) < 1.0
    for row in u:
        counts = torch.histc(row.float(), bins=20, min=0, max=1).tolist()
        assert chi_square([int(c) for c in counts], [2500.0] * 20) < critical(19)
    assert abs(float(torch.corrcoef(u)[0, 1])) < 0.02


def test_the_most_probable_and_the_nucleus_by_hand() -> None:
    log_p = torch.tensor([[0.1, 0.4, 0.1, 0.4]]).log()
    assert keep_top_k(log_p, 3).exp().tolist() == [pytest.approx([0.1, 0.4, 0.0, 0.4])]
    assert torch.equal(keep_top_k(log_p, 9), log_p)
    assert keep_top_p(log_p, 0.3).exp().tolist() == [pytest.approx([0.0, 0.4, 0.0, 0.0])]
    assert keep_top_p(log_p, 0.9).exp().tolist() == [pytest.approx([0.1, 0.4, 0.0, 0.4])]
