"""The default beam where </s> is always among the best tokens, as it is for letters under label smoothing."""

from __future__ import annotations

import torch

from dragoman.config.search import SearchConfig
from dragoman.protocols import State, Step
from dragoman.search.build import build
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


def test_the_default_beam_does_not_end_with_the_first_pieces() -> None:
    """Five pieces that end with 2 % each fill a beam of five after five steps."""
    whole = tuple(range(4, 4 + LENGTH))
    for size in (2, 3, 5, 10):
        (found,) = build(SearchConfig(size=size))(Speller(), *sentences(1))
        assert found[0].tokens == whole
        assert found[0].finished
