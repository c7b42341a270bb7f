"""The two beams where </s> is always among the best tokens, as it is for letters under label smoothing."""

from __future__ import annotations

import pytest
import torch

from dragoman.config.search import SearchConfig
from dragoman.protocols import State, Step
from dragoman.search.build import build
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.stopping import Stop
from dragoman.text.specials import EOS
from support.steppers import sentences

LENGTH = 25
SURE, END = 0.9, 0.02  # of thirty tokens; the others share the rest


class Speller:
    """Writes 4, 5, 6, … for `LENGTH` steps, and would end at any of them with a probability of 2 %."""

    def start(self, src: torch.Tensor, keep: torch.Tensor, width: int) -> State:
        return State(src, torch.zeros(len(src) * width, dtype=torch.long))

    def step(self, y: torch.Tensor, state: State) -> Step:
        p = torch.full((len(y), 4 + LENGTH), (1 - SURE - END) / (2 + LENGTH))
        written = state.moving
        p[:, EOS] = END
        p[torch.arange(len(y)), torch.where(written < LENGTH, written + 4, EOS)] = SURE
        return Step(p.log(), State(state.fixed, written + 1), None)


@pytest.mark.parametrize("size", [2, 3, 5, 10])
def test_only_the_careful_search_does_not_end_with_the_first_pieces(size: int) -> None:
    """Five pieces that end with 2 % each fill a beam of five after five steps, and that search is over."""

    def found(stop: Stop) -> Hypothesis:
        ((best, *_),) = build(SearchConfig(size=size, stop=stop))(Speller(), *sentences(1))
        return best

    assert (found("heuristic").tokens, found("heuristic").finished) == (tuple(range(4, 4 + LENGTH)), True)
    assert len(found("n_best").tokens) < LENGTH
