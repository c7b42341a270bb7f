"""SearchConfig → search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dragoman.config.search import SearchConfig
from dragoman.protocols import Stepper
from dragoman.search.beam import beam_search
from dragoman.search.greedy import greedy_search
from dragoman.search.guard import LoopGuard
from dragoman.search.hypothesis import Hypothesis
from dragoman.shapes import Tensor

# (stepper, src, keep) → the hypotheses of each sentence, best first
Search = Callable[[Stepper, Tensor, Tensor], list[list[Hypothesis]]]


def build(config: SearchConfig, shortest_loop: int | None = None) -> Search:
    """Guarded against loops of so many tokens, where the settings ask for it and someone knows how many."""
    search = unguarded(config)
    if shortest_loop is None or not config.guard:
        return search
    return lambda stepper, src, keep: search(LoopGuard(stepper, shortest_loop), src, keep)


def unguarded(config: SearchConfig) -> Search:
    if config.kind == "greedy" or config.size == 1:
        return partial(greedy_search, max_length=config.max_length, length_penalty=config.length_penalty)
    return partial(
        beam_search,
        size=config.size,
        length_penalty=config.length_penalty,
        max_length=config.max_length,
        stop=config.stop,
    )
