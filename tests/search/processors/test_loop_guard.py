"""Loops are seen and cut after their third turn, in any search; nothing else is touched."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.search.beam import beam_search
from dragoman.search.forced import forced
from dragoman.search.greedy import greedy_search
from dragoman.search.processors.loop_guard import LoopGuard, allowed_repeats
from dragoman.search.repetition import (
    MAX_PERIOD,
    LoopBounds,
    OutputBounds,
    fit_output_bounds,
    max_repeats,
    min_loop_tokens,
)
from dragoman.text.specials import EOS
from support.steppers import Bigram, Prefixes, Script, sentences

A, B, C = 4, 5, 6
SOME = 0.001


def babbling(*tokens: int) -> Script:
    """A model that wants these tokens, then the last of them for ever, and hardly ever to end."""
    steps = []
    for token in tokens:
        p = [SOME] * 8
        p[token] = 1 - 7 * SOME
        steps.append(p)
    return Script(*steps)


@pytest.mark.parametrize(
    ("ids", "repeats"),
    [
        ("", 1),
        ("a", 1),
        ("ab", 1),
        ("aa", 2),
        ("abab", 2),
        ("xabababy", 3),
        ("abcabcabca", 3),
        ("aabbaabb", 2),
    ],
)
def test_repeats_by_hand(ids: str, repeats: int) -> None:
    assert max_repeats([ord(c) for c in ids]) == repeats


@given(st.lists(st.integers(4, 6), max_size=4), st.lists(st.integers(7, 9), min_size=1, max_size=MAX_PERIOD))
def test_a_stretch_that_is_written_n_times_has_n_turns(before: list[int], stretch: list[int]) -> None:
    for n in (3, 5):
        assert max_repeats(before + stretch * n) >= n


THREE = LoopBounds(shortest=1, repeats=3)


@given(st.lists(st.integers(0, 1000), unique=True, max_size=60))
def test_what_never_repeats_has_one_turn(ids: list[int]) -> None:
    assert max_repeats(ids) == 1


def test_letters_need_more_than_three_in_a_row() -> None:
    zeros = [7] * 6
    assert max_repeats(zeros, min_loop_tokens("char")) == 1
    assert max_repeats(zeros, min_loop_tokens("bpe")) == 6
    assert max_repeats(zeros * 2, min_loop_tokens("char")) == 12


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(4, 6), min_size=1, max_size=24), min_size=1, max_size=4),
    st.sampled_from([1, 12]),
)
def test_the_sources_of_a_batch_allow_one_turn_more_than_they_have(
    rows: list[list[int]], shortest: int
) -> None:
    longest = max(map(len, rows))
    src = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    keep = torch.tensor([[place < len(row) for place in range(longest)] for row in rows])
    repeats = [max_repeats(row, shortest) for row in rows]
    allowed = allowed_repeats(src, keep, LoopBounds(shortest, 3)).tolist()
    assert allowed == [n + 1 if n >= 3 else 3 for n in repeats]


@pytest.mark.parametrize("loop", [(A,), (A, B), (A, B, C)], ids=str)
def test_greedy_search_ends_after_the_third_turn(loop: tuple[int, ...]) -> None:
    stepper = babbling(*loop * 40)
    (cut,), (free,) = (
        greedy_search(s, *sentences(1), max_length=60)[0] for s in (LoopGuard(stepper, THREE), stepper)
    )
    assert cut.tokens == loop * 3
    assert cut.finished
    assert not free.finished
    assert max_repeats(cut.tokens) == 3


def test_a_third_turn_that_is_followed_by_something_else_stays() -> None:
    stepper = babbling(A, A, A, B, C, EOS)
    (found,) = greedy_search(LoopGuard(stepper, THREE), *sentences(1), max_length=60)[0]
    assert found.tokens == (A, A, A, B, C)


def test_what_the_source_repeats_may_be_repeated_as_often_and_once_more() -> None:
    """What is cut has more repetitions than its source, so that it is flagged."""
    src = torch.tensor([[9] * 7 + [EOS]])
    guard = LoopGuard(babbling(*[A] * 40), THREE)
    (found,) = greedy_search(guard, src, torch.ones_like(src, dtype=torch.bool), max_length=60)[0]
    assert found.tokens == (A,) * 8


def test_letters_may_repeat_more_often() -> None:
    guard = LoopGuard(babbling(*[A] * 5, B, EOS), LoopBounds(min_loop_tokens("char"), 3))
    (found,) = greedy_search(guard, *sentences(1), max_length=60)[0]
    assert found.tokens == (A, A, A, A, A, B)


def test_a_beam_scores_what_it_cut_as_the_model_does() -> None:
    stepper = Script([SOME, SOME, SOME, 0.02, 0.9, 0.07])
    (found,) = beam_search(
        LoopGuard(stepper, THREE), *sentences(1), size=3, length_penalty=1.0, max_length=30, stop="all"
    )
    assert max(max_repeats(h.tokens) for h in found) == 3
    scored = forced(stepper, *sentences(1), [[*h.tokens, EOS] for h in found])
    assert [h.log_p for h in found] == pytest.approx(scored.log_p.sum(dim=1).tolist(), abs=1e-5)


class Watched(LoopGuard):
    has_cut = False

    def cut(self, *args: torch.Tensor) -> torch.Tensor:
        self.has_cut = True
        return super().cut(*args)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([1, 3]))
def test_outputs_without_loops_are_the_same_bits(seed: int, size: int) -> None:
    batch = sentences(1, 2, 3, 4, 5)
    for stepper in (Prefixes(seed=seed, vocabulary=12), Bigram(seed=seed, vocabulary=12)):
        guard = Watched(stepper, THREE)
        free, guarded = (
            beam_search(s, *batch, size=size, length_penalty=1.0, max_length=9, stop="n_best")
            for s in (stepper, guard)
        )
        assert guard.has_cut or free == guarded
        assert all(max_repeats(h.tokens) <= 3 for hs in guarded for h in hs)


class Endless:
    """A model under a constraint by which it must not end."""

    def __init__(self, inner: Script) -> None:
        self.inner = inner
        self.start = inner.start

    def step(self, y: torch.Tensor, state: object) -> object:
        step = self.inner.step(y, state)
        log_p = step.log_p.clone()
        log_p[:, EOS] = -torch.inf
        return step._replace(log_p=log_p)


def test_what_must_not_end_is_left_alone() -> None:
    (found,) = greedy_search(LoopGuard(Endless(babbling(*[A] * 40)), THREE), *sentences(1), max_length=9)[0]
    assert found.tokens == (A,) * 9
    assert not found.finished


def test_the_longest_output_by_hand() -> None:
    assert OutputBounds(ratio=1.0, longest=7, repeats=3).longest_output(10) == 3 * 10 + 20 + 1
    assert OutputBounds(ratio=5.0, longest=35, repeats=3).longest_output(10) == 2 * 5 * 10 + 35 + 1


def test_the_bounds_are_wide_enough_for_every_reference() -> None:
    """Digits to letters: a source of one digit has five letters, and one of six has thirty."""
    pairs = [([1] * n, list(range(5 * n))) for n in range(1, 7)]
    bounds = fit_output_bounds(pairs, 1, 12)
    assert bounds == OutputBounds(ratio=5.0, longest=30, repeats=3)
    assert all(len(target) < bounds.longest_output(len(source)) for source, target in pairs)
    assert bounds.longest_output(30) > 150  # longer than any that was seen, and right


def test_where_references_have_loops_a_loop_is_no_fault() -> None:
    plain = [([n], [n, n + 1]) for n in range(200)]
    assert fit_output_bounds(plain, 1, 1).repeats == 3
    assert (
        fit_output_bounds([*plain, ([1], [4] * 5)], 1, 1).repeats == 10
    )  # one in two hundred: twice as many
    assert fit_output_bounds([*plain, *[([1], [4] * 5)] * 9], 1, 1).repeats is None
    assert (
        fit_output_bounds([*plain, *[([4] * 5, [4] * 5)] * 9], 1, 1).repeats == 3
    )  # the source has them, too
