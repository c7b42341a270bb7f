"""A model whose log p is not a number: no search may take one for the best, nor fail at what is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch

from dragoman.errors import ModelError
from dragoman.protocols import Stepper
from dragoman.search.beam import BeamSearch, beam_search
from dragoman.search.greedy import greedy_search, greedy_tokens
from dragoman.search.lexical.constraints import Constraint, Form, TokenBoundaries
from dragoman.search.lexical.search import constrained_search
from dragoman.search.numpy.search import beam, greedy
from dragoman.search.sample import SampleSearch
from dragoman.search.scores import length_normalised
from dragoman.search.stopping import StopRule
from dragoman.text.specials import EOS
from support.array_steppers import Arrays
from support.steppers import Script, sentences

V, LENGTH = 40, 6
FINE = [1 / V] * V
NAN = float("nan")
BROKEN = {
    "every token": [NAN] * V,
    "one token": [NAN if token == 7 else 1 / V for token in range(V)],
    "</s>": [NAN if token == EOS else 1 / V for token in range(V)],
}
RULE = StopRule("heuristic", width=3, n_best=3, max_length=LENGTH, normalise=length_normalised)
Search = Callable[[Stepper], object]


def over_arrays(search: Callable[..., object], stepper: Stepper) -> object:
    src, keep = sentences(3, 4)
    return search(Arrays(stepper), src.numpy(), keep.numpy())


def constrained(stepper: Stepper) -> object:
    constraint = Constraint((Form((5,), "a"),))
    edges = TokenBoundaries(torch.zeros(V, dtype=torch.bool), torch.zeros(V, dtype=torch.bool))
    return constrained_search(
        stepper,
        *sentences(3),
        constraints=[[constraint]],
        edges=edges,
        size=3,
        normalise=length_normalised,
        max_length=LENGTH,
    )


SEARCHES: dict[str, Search] = {
    "greedy": lambda stepper: greedy_search(stepper, *sentences(3, 4), max_length=LENGTH),
    "stream": lambda stepper: list(greedy_tokens(stepper, *sentences(3), LENGTH)),
    "beam": lambda stepper: beam_search(stepper, *sentences(3, 4), size=3, max_length=LENGTH),
    "groups": lambda stepper: BeamSearch(4, LENGTH, groups=2)(stepper, *sentences(3, 4)),
    "sample": lambda stepper: SampleSearch(size=3, max_length=LENGTH)(stepper, *sentences(3, 4)),
    "constrained": constrained,
    "greedy over arrays": partial(
        over_arrays, partial(greedy, max_length=LENGTH, normalise=length_normalised)
    ),
    "beam over arrays": partial(over_arrays, partial(beam, rule=RULE)),
}


@pytest.mark.parametrize("first", [[], [FINE]], ids=["at once", "at the second step"])
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("search", SEARCHES)
def test_nan_is_an_error_in_words(search: str, broken: str, first: list[list[float]]) -> None:
    with pytest.raises(ModelError, match="NaN"):
        SEARCHES[search](Script(*first, BROKEN[broken]))
