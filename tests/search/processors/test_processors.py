"""Rules in front of a stepper, under every search."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.search import SearchConfig
from dragoman.protocols import Stepper
from dragoman.search.beam import BeamSearch
from dragoman.search.build import build
from dragoman.search.greedy import greedy_search
from dragoman.search.processors.min_length import MinLength
from dragoman.search.processors.no_repeat_ngram import NoRepeatNgram, repeated_ngrams
from dragoman.search.processors.token_automaton import AutomatonProcessor
from dragoman.text.specials import UNK
from dragoman.text.token_automaton import ANY_TOKEN, AllowedTokens
from support.steppers import Bigram, Prefixes, Script, rescore, sentences

A, B = 4, 5


def greedy(stepper: Stepper, *sources: int) -> list[tuple[int, ...]]:
    return [h.tokens for (h,) in greedy_search(stepper, *sentences(*sources), max_length=12)]


def beam(stepper: Stepper, *sources: int) -> list[tuple[int, ...]]:
    found = BeamSearch(size=3, max_length=12)(stepper, *sentences(*sources))
    return [h.tokens for hypotheses in found for h in hypotheses]


SEARCHES = [greedy, beam]
Search = Callable[..., list[tuple[int, ...]]]


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=20)
@given(seed=st.integers(0, 500), n=st.integers(1, 3))
def test_no_run_of_n_tokens_comes_twice(search: Search, seed: int, n: int) -> None:
    for tokens in search(NoRepeatNgram(Bigram(vocabulary=12, seed=seed), n), 1, 2, 3):
        runs = [tokens[i : i + n] for i in range(len(tokens) - n + 1)]
        assert len(set(runs)) == len(runs)


def test_what_would_repeat_is_what_came_after_the_same_tokens() -> None:
    tokens = torch.tensor([[2, 4, 5, 4], [2, 4, 4, 4]])
    assert repeated_ngrams(tokens, 2, 7).nonzero().tolist() == [[0, 5], [1, 4]]
    assert repeated_ngrams(tokens, 5, 7).sum() == 0
    assert repeated_ngrams(tokens, 1, 7)[0].nonzero().flatten().tolist() == [2, 4, 5]


@pytest.mark.parametrize("search", SEARCHES)
def test_no_output_is_shorter_than_asked(search: Search) -> None:
    stepper = Bigram(seed=1)
    assert min(len(tokens) for tokens in search(stepper, *range(8))) < 6
    assert min(len(tokens) for tokens in search(MinLength(stepper, 6), *range(8))) == 6


class Twice:
    """Sentence 0 begins with A A, sentence 1 with B; neither has A B."""

    def start(self, sentence: int) -> int:
        return (1, 3)[sentence]

    def after(self, state: int, token: int) -> int:
        return {1: 2, 2: 5}.get(state, 5 if token == A else 4)

    def choice(self, state: int) -> AllowedTokens:
        return {
            1: AllowedTokens([A], True),
            2: AllowedTokens([A], True),
            3: AllowedTokens([B], True),
            5: AllowedTokens([B], False),
        }.get(state, ANY_TOKEN)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", range(4))
def test_a_rule_about_text_leads_each_sentence(search: Search, seed: int) -> None:
    stepper = Prefixes(seed=seed, vocabulary=8)
    outputs = search(AutomatonProcessor(stepper, Twice(), [0, 1, 1, 0]), 1, 2, 3, 4)
    assert all(tokens[:2] == (A, A) or tokens[0] == B for tokens in outputs)
    assert not any((A, B) in pairwise(tokens) for tokens in outputs)
    assert search(AutomatonProcessor(stepper, Twice(), [1, 0]), 2, 4) == [
        *search(AutomatonProcessor(stepper, Twice(), [1]), 2),
        *search(AutomatonProcessor(stepper, Twice(), [0]), 4),
    ]


def test_scores_stay_those_of_the_model() -> None:
    stepper = Prefixes(seed=2, vocabulary=8)
    for (h,) in greedy_search(AutomatonProcessor(stepper, Twice(), [0]), *sentences(1), max_length=6):
        assert h.log_p == pytest.approx(rescore(stepper, 1, h.tokens, finished=h.finished), abs=1e-5)


def test_a_rule_that_leaves_nothing_gives_way() -> None:
    certain = Script([0.0, 0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    for rule in (NoRepeatNgram(certain, 1), MinLength(certain, 5)):
        assert greedy(rule, 1) == [(A,)]


def test_the_inner_rule_goes_before_the_outer() -> None:
    """The prefix A A stands, although no token may come twice."""
    stepper = NoRepeatNgram(AutomatonProcessor(Bigram(vocabulary=12, seed=1), Twice(), [0]), 1)
    ((first, second, *others),) = greedy(stepper, 1)
    assert (first, second) == (A, A)
    assert len(set(others)) == len(others)


def test_settings_choose_the_rules() -> None:
    config = SearchConfig(size=2, max_length=9, min_length=4, no_repeat_ngram=1)
    found = build(config)(Bigram(vocabulary=12, seed=3), *sentences(1, 2))
    assert all(4 <= len(h.tokens) == len(set(h.tokens)) for hypotheses in found for h in hypotheses)
    without = build(SearchConfig(size=2, max_length=9, allow_unk=False))
    found = without(Bigram(vocabulary=12, seed=3), *sentences(1, 2))
    assert not any(UNK in h.tokens for hypotheses in found for h in hypotheses)
    with pytest.raises(ValueError, match="leaves no room below max_length"):
        SearchConfig(min_length=9, max_length=9)
