"""Greedy and beam search against exhaustive search, forced decoding and each other."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.search import SearchConfig
from dragoman.search.batch_invariance import MIN_ROWS, rows_to_keep
from dragoman.search.beam import Stop, beam_search
from dragoman.search.build import build
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import best_possible, length_normalised
from dragoman.search.topk import topk
from dragoman.text.specials import BOS, EOS, PAD
from support.exhaustive import exhaustive_search
from support.steppers import Bigram, Prefixes, Script, rescore, sentences

ALPHAS = [0.0, 0.6, 1.0]
STOPS: list[Stop] = ["all", "heuristic", "n_best", "length"]
A, B = 4, 5  # two real tokens
VALUES = [-1.0, -2.0, -3.0, -torch.inf]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_beam_wider_than_the_tree_is_exhaustive(alpha: float) -> None:
    stepper, max_length = Prefixes(seed=3), 3
    normalise = partial(length_normalised, alpha=alpha)
    (want,) = exhaustive_search(stepper, *sentences(7), max_length=max_length, normalise=normalise)
    (got,) = beam_search(
        stepper, *sentences(7), size=50, length_penalty=alpha, max_length=max_length, stop="all"
    )
    assert [(h.tokens, h.finished) for h in got] == [(h.tokens, h.finished) for h in want]
    assert [h.score for h in got] == pytest.approx([h.score for h in want], abs=1e-5)


class InDouble(Prefixes):
    """A beam adds up in the precision that it is given, greedy search always in double."""

    def log_p(self, source: int, prefix: tuple[int, ...]) -> Tensor:
        return super().log_p(source, prefix).double()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from(ALPHAS))
def test_a_beam_of_one_that_stops_at_the_first_end_is_greedy(seed: int, alpha: float) -> None:
    stepper, batch = InDouble(seed=seed), sentences(1, 2, 3)
    narrow = beam_search(stepper, *batch, size=1, length_penalty=alpha, max_length=8, stop="n_best")
    greedy = greedy_search(stepper, *batch, max_length=8, normalise=partial(length_normalised, alpha=alpha))
    assert [[h.tokens for h in n] for n in narrow] == [[h.tokens for h in n] for n in greedy]
    assert narrow[0][0].score == pytest.approx(greedy[0][0].score, abs=1e-6)


def test_a_beam_of_one_without_length_normalisation_is_greedy_under_either_rule() -> None:
    stepper, batch = Prefixes(seed=5), sentences(*range(8))
    greedy = greedy_search(stepper, *batch, max_length=6, normalise=partial(length_normalised, alpha=0.0))
    for stop in ("all", "n_best"):
        narrow = beam_search(stepper, *batch, size=1, length_penalty=0.0, max_length=6, stop=stop)
        assert [n[0].tokens for n in narrow] == [n[0].tokens for n in greedy]


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_scores_are_those_of_forced_decoding(stop: Stop, alpha: float) -> None:
    stepper = Prefixes(seed=11)
    found = beam_search(stepper, *sentences(0, 1, 2), size=4, length_penalty=alpha, max_length=7, stop=stop)
    for source, hypotheses in enumerate(found):
        for h in hypotheses:
            assert h.log_p == pytest.approx(rescore(stepper, source, h.tokens, finished=h.finished), abs=1e-5)
            length = len(h.tokens) + h.finished
            assert h.score == pytest.approx(length_normalised(h.log_p, length, alpha), abs=1e-9)


def test_greedy_scores_are_those_of_forced_decoding() -> None:
    stepper = Prefixes(seed=2)
    for source, (h,) in enumerate(greedy_search(stepper, *sentences(0, 1, 2, 3), max_length=5)):
        assert h.log_p == pytest.approx(rescore(stepper, source, h.tokens, finished=h.finished), abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    sources=st.lists(st.integers(0, 15), min_size=1, max_size=6),
    size=st.integers(1, 4),
    stop=st.sampled_from(STOPS),
)
def test_a_sentence_alone_is_the_sentence_in_any_batch(
    seed: int, sources: list[int], size: int, stop: Stop
) -> None:
    stepper = Bigram(seed=seed)

    def search(*batch: int) -> list[list[Hypothesis]]:
        return beam_search(
            stepper, *sentences(*batch), size=size, length_penalty=1.0, max_length=9, stop=stop
        )

    assert search(*sources) == [search(source)[0] for source in sources]
    greedy = greedy_search(stepper, *sentences(*sources), max_length=9)
    assert greedy == [greedy_search(stepper, *sentences(s), max_length=9)[0] for s in sources]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=st.integers(1, 6),
    alpha=st.sampled_from(ALPHAS),
    stop=st.sampled_from(STOPS),
)
def test_the_n_best_are_distinct_sorted_and_legal(seed: int, size: int, alpha: float, stop: Stop) -> None:
    stepper = Prefixes(seed=seed)
    found = beam_search(stepper, *sentences(4, 9), size=size, length_penalty=alpha, max_length=5, stop=stop)
    for hypotheses in found:
        assert 1 <= len(hypotheses) <= size
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        assert len({(h.tokens, h.finished) for h in hypotheses}) == len(hypotheses)
        assert all(len(h.tokens) == 5 for h in hypotheses if not h.finished)
        assert not {PAD, BOS, EOS} & {token for h in hypotheses for token in h.tokens}


def test_beam_keeps_order_of_inputs_when_sentences_end_at_different_steps() -> None:
    stepper = Bigram(seed=1)
    forward = beam_search(
        stepper, *sentences(*range(16)), size=3, length_penalty=1.0, max_length=12, stop="n_best"
    )
    back = beam_search(
        stepper, *sentences(*reversed(range(16))), size=3, length_penalty=1.0, max_length=12, stop="n_best"
    )
    assert forward == back[::-1]
    assert len({len(hypotheses[0].tokens) for hypotheses in forward}) > 1


def test_work_shrinks_as_sentences_end() -> None:
    stepper = Bigram(seed=1)
    greedy_search(stepper, *sentences(*range(16)), max_length=12)
    assert stepper.rows == sorted(stepper.rows, reverse=True)
    assert MIN_ROWS <= stepper.rows[-1] < stepper.rows[0] == 16
    stepper.rows.clear()
    beam_search(stepper, *sentences(*range(16)), size=3, length_penalty=0.0, max_length=12, stop="all")
    beam = stepper.rows[: 1 + max(n for n, rows in enumerate(stepper.rows) if rows >= 3 * MIN_ROWS)]
    assert beam == sorted(beam, reverse=True)
    assert 3 * MIN_ROWS <= beam[-1] < beam[0] == 48


def test_done_sentences_stay_as_company_where_few_are_open() -> None:
    assert rows_to_keep([True] * 6) == [0, 1, 2, 3, 4, 5]
    assert rows_to_keep([True, False, True, True, False, True]) == [0, 2, 3, 5]
    assert rows_to_keep([False, False, False, False, False, True]) == [0, 1, 2, 5]
    assert rows_to_keep([False, True]) == [0, 1]


#             pad  unk  <s>  </s>  A    B
ENDLESS = [0.0, 0.0, 0.0, 0.0, 0.75, 0.25]


@pytest.mark.parametrize("stop", STOPS)
def test_an_output_cut_at_the_longest_length_says_so(stop: Stop) -> None:
    stepper = Script(ENDLESS)
    (cut,) = beam_search(stepper, *sentences(1), size=2, length_penalty=1.0, max_length=4, stop=stop)
    assert cut[0].tokens == (A, A, A, A)
    assert not any(h.finished for h in cut)
    ((greedy,),) = greedy_search(stepper, *sentences(1), max_length=4)
    assert (greedy.tokens, greedy.finished) == ((A, A, A, A), False)


def test_a_better_output_that_was_cut_goes_before_a_finished_one_and_says_so() -> None:
    """As in CTranslate2: the short one would win only because the longest length was reached."""
    stepper = Script([0.0, 0.0, 0.0, 0.3, 0.7, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    (found,) = beam_search(stepper, *sentences(1), size=2, length_penalty=1.0, max_length=3, stop="all")
    assert [(h.tokens, h.finished) for h in found] == [((A, A, A), False), ((), True)]
    assert [h.score for h in found] == pytest.approx([-0.1189, -1.204], abs=1e-3)


def test_the_last_step_may_still_end_an_output() -> None:
    stepper = Script(ENDLESS, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    ((h,),) = greedy_search(stepper, *sentences(1), max_length=2)
    assert (h.tokens, h.finished) == ((A,), True)


def test_stopping_at_n_best_is_early_and_stopping_at_all_finds_the_better_long_output() -> None:
    # Short outputs end early and dearly; every later step is cheaper, so length pays under α = 1.
    stepper = Script(
        [0.0, 0.0, 0.0, 0.5, 0.4, 0.1], [0.0, 0.0, 0.0, 0.6, 0.4, 0.0], [0.0, 0.0, 0.0, 0.3, 0.7, 0.0]
    )
    hasty, patient = (
        beam_search(stepper, *sentences(1), size=2, length_penalty=1.0, max_length=30, stop=stop)[0]
        for stop in ("n_best", "all")
    )
    assert [h.tokens for h in hasty] == [(), (A,)]
    assert patient[0].score > hasty[0].score
    assert len(patient[0].tokens) > 5


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), alpha=st.sampled_from(ALPHAS))
def test_stopping_at_all_changes_nothing_that_going_on_would_find(seed: int, alpha: float) -> None:
    """The bound is safe: a search that never stops early has the same n best."""
    stepper = Bigram(seed=seed)
    options = {"size": 3, "length_penalty": alpha, "max_length": 10}
    stopped = beam_search(stepper, *sentences(0, 1), **options, stop="all")
    endless = beam_search(stepper, *sentences(0, 1), **options, stop="length")
    assert stopped == endless


def test_without_length_normalisation_stopping_at_all_is_soon() -> None:
    stepper = Script([0.0, 0.0, 0.0, 0.4, 0.6, 0.0])
    beam_search(stepper, *sentences(3), size=2, length_penalty=0.0, max_length=200, stop="all")
    assert stepper.calls < 6


def test_equal_probabilities_go_to_the_lower_token() -> None:
    stepper = Script([0.25, 0.0, 0.25, 0.0, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    ((greedy,),) = greedy_search(stepper, *sentences(1), max_length=3)
    assert greedy.tokens == (A,)
    (found,) = beam_search(stepper, *sentences(1), size=2, length_penalty=1.0, max_length=3, stop="n_best")
    assert [h.tokens for h in found] == [(A,), (B,)]


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.sampled_from([-1.0, -2.0, -3.0, -torch.inf]), min_size=8, max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_the_k_best_are_those_of_a_stable_sort(rows: list[list[float]]) -> None:
    x = torch.tensor(rows)
    value, index = topk(x, 4)
    for row, values, places in zip(rows, value.tolist(), index.tolist(), strict=True):
        want = sorted(range(8), key=lambda i: -row[i])[:4]
        assert values == [row[i] for i in want]
        finite = [i for i in want if row[i] > -torch.inf]
        assert places[: len(finite)] == finite


def test_the_bound_is_reached_by_certainty_at_the_longest_length() -> None:
    assert best_possible(-6.0, 12, length_normalised) == pytest.approx(-0.5)
    assert best_possible(-6.0, 12, partial(length_normalised, alpha=0.0)) == -6.0
    assert length_normalised(-6.0, 3, 1.0) == pytest.approx(-2.0)


def test_settings_choose_the_search() -> None:
    stepper, batch = Prefixes(seed=8), sentences(1, 2)
    greedy = build(SearchConfig(kind="greedy", max_length=6))(stepper, *batch)
    assert greedy == greedy_search(stepper, *batch, max_length=6)
    assert build(SearchConfig(size=1, max_length=6))(stepper, *batch) == greedy
    wide = build(SearchConfig(size=3, max_length=6, length_penalty=0.6, stop="n_best"))(stepper, *batch)
    assert wide == beam_search(stepper, *batch, size=3, max_length=6, length_penalty=0.6, stop="n_best")
