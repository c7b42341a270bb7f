"""SearchConfig → search."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from dragoman.config.search import SearchConfig
from dragoman.protocols import Stepper
from dragoman.search.beam import beam_search
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.shapes import Bool, Int, Tensor


class Search(Protocol):
    """The hypotheses of each sentence, best first."""

    def __call__(
        self, stepper: Stepper, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], /
    ) -> list[list[Hypothesis]]: ...


def build(config: SearchConfig) -> Search:
    if config.kind == "greedy" or config.size == 1:
        return partial(greedy_search, max_length=config.max_length, length_penalty=config.length_penalty)
    return partial(
        beam_search,
        size=config.size,
        length_penalty=config.length_penalty,
        max_length=config.max_length,
        stop=config.stop,
    )
