"""SearchConfig → search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from dragoman.config.search import SearchConfig
from dragoman.protocols import Stepper
from dragoman.search.beam import beam_search
from dragoman.search.constrained import constrained_search
from dragoman.search.constraints import Constraint, Edges
from dragoman.search.greedy import greedy_search
from dragoman.search.guard import LoopGuard
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.steering.length import AtLeast
from dragoman.search.steering.repetition import NoRepeat
from dragoman.shapes import Tensor

# (stepper, src, keep) → the hypotheses of each sentence, best first
Search = Callable[[Stepper, Tensor, Tensor], list[list[Hypothesis]]]


def build(config: SearchConfig, shortest_loop: int | None = None) -> Search:
    return ruled(unguarded(config), config, shortest_loop)


def build_constrained(
    config: SearchConfig,
    constraints: Sequence[Sequence[Constraint]],
    edges: Edges,
    shortest_loop: int | None = None,
) -> Search:
    """For a batch whose outputs must hold these."""
    search = partial(
        constrained_search,
        constraints=constraints,
        edges=edges,
        size=config.size,
        length_penalty=config.length_penalty,
        max_length=config.max_length,
    )
    return ruled(search, config, shortest_loop)


def ruled(search: Search, config: SearchConfig, shortest_loop: int | None) -> Search:
    """The search over a stepper that keeps the rules of the settings, and is guarded against loops of so many
    tokens, where the settings ask for it and someone knows how many."""
    rules: list[Callable[[Stepper], Stepper]] = []
    if config.no_repeat_ngram:
        rules.append(partial(NoRepeat, n=config.no_repeat_ngram))
    if config.min_length:
        rules.append(partial(AtLeast, n=config.min_length))
    if config.guard and shortest_loop is not None:
        rules.append(partial(LoopGuard, shortest=shortest_loop))
    if not rules:
        return search
    return lambda stepper, src, keep: search(reduce(lambda s, rule: rule(s), rules, stepper), src, keep)


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
