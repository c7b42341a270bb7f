"""Search over arrays gives what search over tensors gives: the same tokens, the same scores, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.protocols import Stepper
from dragoman.search.beam import BeamSearch
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.numpy.processors import force_prefix, min_length, no_repeat_ngram, no_unk
from dragoman.search.numpy.search import Processor, beam, continuations, greedy
from dragoman.search.processors.min_length import MinLength
from dragoman.search.processors.no_repeat_ngram import NoRepeatNgram
from dragoman.search.processors.no_unk import NoUnk
from dragoman.search.processors.token_automaton import AutomatonProcessor
from dragoman.search.scores import gnmt_normalised, length_normalised
from dragoman.search.stopping import Stop, StopRule
from dragoman.search.topk import topk_sums
from dragoman.text.specials import BOS, EOS, PAD, UNK
from dragoman.text.token_automaton import ANY_TOKEN, AllowedTokens
from support.array_steppers import Arrays
from support.steppers import Bigram, Prefixes, Script, Table, sentences

NORMS = {"mean": length_normalised, "gnmt": partial(gnmt_normalised, alpha=0.6)}
SOURCES = (1, 2, 3, 4, 5, 6, 7)


def arrays(*sources: int) -> tuple[Any, Any]:
    src, keep = sentences(*sources)
    return src.numpy(), keep.numpy()


def array_beam(
    stepper: Arrays, size: int, *, stop: Stop = "n_best", rules: Sequence[Processor] = (), **options: Any
) -> list[list[Hypothesis]]:
    rule = StopRule(stop, size, size, **{"normalise": length_normalised, **options})
    return beam(stepper, *arrays(*SOURCES), rule, rules)


def both_beams(stepper: Stepper, size: int, **options: Any) -> tuple[list[list[Hypothesis]], ...]:
    there = BeamSearch(size=size, **options)(stepper, *sentences(*SOURCES))
    return array_beam(Arrays(stepper), size, **options), there


@pytest.mark.parametrize("stop", ["n_best", "heuristic", "all", "length"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("size", [2, 5])
def test_a_beam_finds_the_same(stop: Stop, norm: str, size: int) -> None:
    for stepper in (Table(vocabulary=9, seed=size), Table(vocabulary=400, seed=1), Bigram(), Prefixes()):
        here, there = both_beams(stepper, size, max_length=12, normalise=NORMS[norm], stop=stop)
        assert here == there


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 6),
    vocabulary=st.sampled_from([5, 8, 60, 700]),
    longest=st.integers(1, 9),
    stop=st.sampled_from(["n_best", "heuristic"]),
)
def test_a_beam_finds_the_same_over_any_table(
    seed: int, size: int, vocabulary: int, longest: int, stop: Stop
) -> None:
    table = Table(vocabulary=vocabulary, seed=seed, rows=101)
    here, there = both_beams(table, size, max_length=longest, stop=stop)
    assert here == there


def test_equal_probabilities_stand_in_the_same_order() -> None:
    even = Script([0.2, 0.2, 0.0, 0.2, 0.2, 0.2], [0.25, 0.25, 0.0, 0.25, 0.25, 0.0])
    here, there = both_beams(even, 4, max_length=4)
    assert here == there


def test_greedy_finds_the_same() -> None:
    for seed in range(5):
        for stepper in (Table(vocabulary=30, seed=seed), Bigram(seed=seed), Prefixes(seed=seed)):
            there = greedy_search(stepper, *sentences(*SOURCES), max_length=12)
            here = greedy(Arrays(stepper), *arrays(*SOURCES), max_length=12, normalise=length_normalised)
            assert here == there


def test_done_sentences_leave_the_batch() -> None:
    stepper = Arrays(Table(vocabulary=9, seed=3))
    greedy(stepper, *arrays(*SOURCES), max_length=12, normalise=length_normalised)
    assert stepper.rows == sorted(stepper.rows, reverse=True)
    assert stepper.rows[0] == (7, 1) > stepper.rows[-1]
    stepper.rows.clear()
    array_beam(stepper, 3, max_length=12)
    assert stepper.rows[0] == (7, 3) > stepper.rows[-1]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), V=st.sampled_from([6, 50, 129, 1000]), W=st.integers(1, 6))
def test_the_best_sums_are_the_same(seed: int, V: int, W: int) -> None:
    """Values are coarse, so that many are equal, and some are forbidden."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.normal(size=(3, W)), 1).astype(np.float32)
    log_p = np.round(rng.normal(size=(3, W, V)), 1).astype(np.float32)
    log_p[rng.random(log_p.shape) < 0.3] = -np.inf
    log_p[..., [PAD, BOS]] = -np.inf
    value, index = topk_sums(torch.from_numpy(p), torch.from_numpy(log_p.reshape(3 * W, V)), 2 * W)
    found = continuations(p, log_p.copy())
    assert np.array_equal(found.log_p, value.numpy())
    real = np.isfinite(found.log_p)
    assert np.array_equal((found.parent * V + found.token)[real], index.numpy()[real])


class Opening:
    """An automaton that holds each output to its prefix: the state is n · 100 + tokens written."""

    def __init__(self, prefixes: list[list[int]]) -> None:
        self.prefixes = prefixes

    def start(self, sentence: int) -> int:
        return sentence * 100

    def after(self, state: int, token: int) -> int:
        return state + 1

    def choice(self, state: int) -> AllowedTokens:
        prefix, t = self.prefixes[state // 100], state % 100
        return AllowedTokens([prefix[t]], True) if t < len(prefix) else ANY_TOKEN


@pytest.mark.parametrize("size", [1, 4])
def test_rules_forbid_the_same(size: int) -> None:
    prefixes = [[], [4], [5, 5, 5], [7, 4], [], [6], [4, 5, 6, 7]]
    table = Table(vocabulary=8, seed=5)
    held = AutomatonProcessor(table, Opening(prefixes), range(len(SOURCES)))  # type: ignore[arg-type]
    stepper = NoUnk(MinLength(NoRepeatNgram(held, 2), 5))
    rules = [force_prefix(prefixes), no_repeat_ngram(2), min_length(5), no_unk]
    options = {"max_length": 10, "normalise": length_normalised}
    if size == 1:
        there = greedy_search(stepper, *sentences(*SOURCES), max_length=10)
        here = greedy(Arrays(table), *arrays(*SOURCES), rules=rules, **options)
    else:
        there = BeamSearch(size, 10)(stepper, *sentences(*SOURCES))
        here = array_beam(Arrays(table), size, rules=rules, **options)
    assert here == there
    assert all(best[0].tokens[: len(p)] == tuple(p) for best, p in zip(here, prefixes, strict=True))
    assert EOS not in here[0][0].tokens
    assert not any(UNK in hypothesis.tokens for best in here for hypothesis in best)
