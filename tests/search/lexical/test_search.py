"""Outputs that must hold given phrases: tracking against its definition, search against all outputs."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.lexical.constraints import (
    Constraint,
    Form,
    Start,
    TokenBoundaries,
    begin,
    matches,
    to_tensors,
)
from dragoman.search.lexical.progress import advance, bank, met_at_end
from dragoman.search.lexical.search import constrained_search, round_robin, width_for
from dragoman.search.scores import length_normalised
from dragoman.text.specials import EOS, UNK
from support.steppers import Bigram, Prefixes, rescore, sentences

V = 9
#                 pad   unk    <s>    </s>   4      5      6     7     8
LETTERS = [False, False, False, False, True, True, False, False, False]
OPENINGS = [False, False, True, False, False, False, True, False, False]
EDGES = TokenBoundaries(torch.tensor(LETTERS), torch.tensor(OPENINGS))
CPU = torch.device("cpu")

forms = st.builds(
    Form,
    st.lists(st.integers(4, V - 1), min_size=1, max_size=3).map(tuple),
    st.just("x"),
    st.sampled_from(Start),
    st.booleans(),
)


@st.composite
def constraint_lists(draw: st.DrawFn, most: int = 3) -> list[Constraint]:
    """Each has a form that may begin anywhere."""
    first = forms.map(lambda form: form._replace(start=Start.ANYWHERE))
    return [
        Constraint((draw(first), *draw(st.lists(forms, max_size=1))), draw(st.integers(-1, n - 1)))
        for n in range(draw(st.integers(1, most)))
    ]


def plain(*phrases: tuple[int, ...]) -> list[Constraint]:
    """One form each; what is asked twice comes one after the other."""
    return [
        Constraint((Form(phrase, "x"),), max([-1, *(m for m in range(n) if phrases[m] == phrase)]))
        for n, phrase in enumerate(phrases)
    ]


def met(tokens: tuple[int, ...], constraints: list[Constraint]) -> set[int]:
    return {span.constraint for span in matches(tokens, constraints, EDGES)}


@settings(max_examples=60)
@given(
    batch=st.lists(constraint_lists(), min_size=1, max_size=3),
    tokens=st.lists(st.integers(4, V - 1), min_size=1, max_size=9),
)
def test_tracking_many_at_once_is_the_definition(batch: list[list[Constraint]], tokens: list[int]) -> None:
    tables = to_tensors(batch, CPU)
    progress = begin(tables, 2)
    for end, token in enumerate(tokens, start=1):
        progress = advance(tables, EDGES, progress, torch.full((len(batch), 2), token))
        found = met_at_end(tables, progress)
        for row, constraints in enumerate(batch):
            want = met(tuple(tokens[:end]), constraints)
            assert {g for g in range(len(constraints)) if found[row, 1, g]} == want
            total = int(tables.total[row])
            assert (int(bank(tables, progress)[row, 0]) == total) == (len(want) == len(constraints))


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), constraints=constraint_lists(), size=st.sampled_from([1, 2, 5]))
def test_every_output_that_ends_meets_every_constraint(
    seed: int, constraints: list[Constraint], size: int
) -> None:
    stepper = Bigram(vocabulary=V, seed=seed)
    (found,) = search(stepper, [constraints], 7, size=size, max_length=16)
    assert met(found[0].tokens, constraints) == set(range(len(constraints)))
    for h in found:
        assert not h.finished or met(h.tokens, constraints) == set(range(len(constraints)))
        assert h.log_p == pytest.approx(rescore(stepper, 7, h.tokens, finished=h.finished), abs=1e-4)
    assert len({h.tokens for h in found}) == len(found)


def search(
    stepper: Bigram | Prefixes,
    batch: list[list[Constraint]],
    *sources: int,
    size: int = 4,
    max_length: int = 20,
) -> list[list[Hypothesis]]:
    return constrained_search(
        stepper,
        *sentences(*sources),
        constraints=batch,
        edges=EDGES,
        size=size,
        normalise=length_normalised,
        max_length=max_length,
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_output_that_meets_the_constraints(seed: int) -> None:
    stepper, constraints = Prefixes(seed=seed, vocabulary=V), plain((4, 5), (4,))
    outputs = [tokens for n in range(4) for tokens in itertools.product([UNK, *range(4, V)], repeat=n)]
    want = [
        (length_normalised(rescore(stepper, 3, tokens), len(tokens) + 1, 1.0), tokens)
        for tokens in outputs
        if met(tokens, constraints) == {0, 1}
    ]
    ((best, *_),) = search(stepper, [constraints], 3, size=300, max_length=4)
    assert (best.score, best.tokens) == (pytest.approx(max(want)[0], abs=1e-5), max(want)[1])


def test_a_phrase_that_needs_the_end_of_a_word_before_it_is_written_by_a_beam_of_one() -> None:
    """Behind 4 must come another token before the second 4, which alone would make another word of it."""
    constraints = [Constraint((Form((4,), "x", closed=True),)), Constraint((Form((4,), "x"),), after=0)]
    for seed in range(20):
        ((best,),) = search(Bigram(vocabulary=V, seed=seed), [constraints], 7, size=1, max_length=16)
        assert best.finished
        assert met(best.tokens, constraints) == {0, 1}


def test_what_is_asked_twice_is_written_twice() -> None:
    (found,) = search(Bigram(vocabulary=V, seed=3), [plain((7, 8), (7, 8), (7, 8))], 1)
    assert found[0].finished
    for h in found:
        assert sum(pair == (7, 8) for pair in itertools.pairwise(h.tokens)) >= 3


def test_overlapping_phrases_may_share_what_they_have_in_common() -> None:
    constraints = plain((6, 7), (7, 8))
    assert met((6, 7, 8), constraints) == {0, 1}
    assert met((6, 7, 6, 8), constraints) == {0}
    assert met((6, 6, 7, 7, 8), plain((6, 7, 7), (6, 6))) == {0, 1}


def test_a_letter_behind_a_closed_form_makes_another_word_of_it() -> None:
    constraints = [Constraint((Form((7,), "x", closed=True),))]
    assert met((7, 8), constraints) == {0}
    assert met((7, 4), constraints) == set()
    assert met((7, 4, 7), constraints) == {0}


def test_a_form_without_space_begins_only_behind_an_opening() -> None:
    constraints = [Constraint((Form((4,), "x", Start.AFTER_OPENING),))]
    assert met((4,), constraints) == {0}
    assert met((7, 4), constraints) == set()
    assert met((7, 6, 4), constraints) == {0}


def test_sentences_keep_their_outputs_in_any_company() -> None:
    stepper = Bigram(vocabulary=V, seed=5)
    batch = [plain((7, 8)), plain((4,), (5,)), plain((6, 6, 6)), plain((8,))]
    assert {width_for(row, 4) for row in batch} == {4}
    together = search(stepper, batch, 1, 2, 3, 4)
    assert together == [search(stepper, [row], s)[0] for row, s in zip(batch, (1, 2, 3, 4), strict=True)]
    assert together == search(stepper, batch[::-1], 4, 3, 2, 1)[::-1]


def test_without_room_an_output_is_cut_and_has_as_much_as_there_is_room_for() -> None:
    ((first, *_),) = search(Bigram(vocabulary=V, seed=2), [plain((7, 8, 7, 8, 6))], 1, max_length=3)
    assert not first.finished
    assert first.tokens == (7, 8, 7)


def test_a_stepper_that_leaves_only_the_end_is_obeyed() -> None:
    class Ending(Bigram):
        def step(self, y: torch.Tensor, state):  # type: ignore[no-untyped-def]
            step = super().step(y, state)
            only_end = torch.full_like(step.log_p, -torch.inf)
            only_end[:, EOS] = -1.0
            return step._replace(log_p=only_end)

    ((h,),) = search(Ending(vocabulary=V), [plain((7,))], 1, size=1)
    assert (h.tokens, h.finished) == ((), True)


def test_a_beam_has_a_place_for_each_bank_up_to_a_width() -> None:
    assert [width_for(plain((4,) * n), 5) for n in (1, 4, 5, 9, 10, 40)] == [5, 5, 10, 10, 20, 20]
    assert width_for(plain((4, 5)), 1) == 4


def test_banks_take_turns_the_fullest_first() -> None:
    banks = torch.tensor([[0, 0, 2, 0, 1, 2]])
    value = torch.tensor([[-1.0, -2.0, -3.0, -4.0, -5.0, -torch.inf]])
    rank, order = round_robin(banks, value)
    assert order.tolist() == [[2, 4, 0, 1, 3, 5]]
    assert rank.tolist() == [[0, 0, 0, 1, 2, 1]]
