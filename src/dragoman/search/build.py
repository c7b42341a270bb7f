"""SearchConfig → search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

from dragoman.config.search import SearchConfig
from dragoman.protocols import Stepper
from dragoman.search.beam import BeamSearch
from dragoman.search.ensemble import Average, mean_of_log_p, mean_of_p
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.lexical.constraints import Constraint, TokenBoundaries
from dragoman.search.lexical.search import constrained_search
from dragoman.search.processors.loop_guard import LoopGuard
from dragoman.search.processors.min_length import MinLength
from dragoman.search.processors.no_repeat_ngram import NoRepeatNgram
from dragoman.search.processors.no_unk import NoUnk
from dragoman.search.repetition import LoopBounds
from dragoman.search.sample import SampleSearch
from dragoman.search.scores import Normalise, gnmt_normalised, length_normalised
from dragoman.search.trace import Recorder
from dragoman.shapes import Tensor

# (stepper, src, keep) → the hypotheses of each sentence, best first
Search = Callable[[Stepper, Tensor, Tensor], list[list[Hypothesis]]]


def build(
    config: SearchConfig,
    loops: LoopBounds | None = None,
    recorder: Recorder | None = None,
) -> Search:
    """Return the search of these settings, guarded against `loops`.

    Those of a beam are cut after the search.
    """
    if is_beam(config):
        ends = None if config.min_length else loops  # loops are not cut before the minimum length
        return ruled(replace(build_beam(config), loops=ends, recorder=recorder), config, None)
    return ruled(unruled(config, recorder), config, loops)


def build_greedy(config: SearchConfig, loops: LoopBounds | None) -> Search:
    """Return greedy search with the scores of the beam of these settings."""
    return ruled(build_beam(config).of_one(), config, loops)


def is_beam(config: SearchConfig) -> bool:
    return config.kind == "beam" and config.size > 1


def build_constrained(
    config: SearchConfig,
    constraints: Sequence[Sequence[Constraint]],
    edges: TokenBoundaries,
    loops: LoopBounds | None = None,
) -> Search:
    """Return the search for a batch whose outputs must satisfy these constraints."""
    search = partial(
        constrained_search,
        constraints=constraints,
        edges=edges,
        size=config.size,
        normalise=build_normalise(config),
        max_length=config.max_length,
    )
    return ruled(search, config, loops)


def ruled(search: Search, config: SearchConfig, loops: LoopBounds | None) -> Search:
    """Return the search over a stepper that follows the rules of the settings and ends these loops."""
    rules = build_rules(config, loops)
    return (lambda stepper, src, keep: search(rules(stepper), src, keep)) if rules else search


def build_rules(config: SearchConfig, loops: LoopBounds | None) -> Callable[[Stepper], Stepper] | None:
    """Return a function that wraps a stepper in the rules of the settings, or None if there are none."""
    rules: list[Callable[[Stepper], Stepper]] = []
    if config.no_repeat_ngram:
        rules.append(partial(NoRepeatNgram, n=config.no_repeat_ngram))
    if config.min_length:
        rules.append(partial(MinLength, n=config.min_length))
    if not config.allow_unk:
        rules.append(NoUnk)
    if loops:
        rules.append(partial(LoopGuard, loops=loops))
    return (lambda stepper: reduce(lambda s, rule: rule(s), rules, stepper)) if rules else None


def unruled(config: SearchConfig, recorder: Recorder | None) -> Search:
    """Return any search but a beam. For "mbr" it only samples; the caller chooses by text metrics."""
    normalise = build_normalise(config)
    if config.kind in ("sample", "mbr"):
        return SampleSearch(
            size=config.samples if config.kind == "mbr" else config.n_best,
            max_length=config.max_length,
            temperature=config.temperature,
            top_k=config.top_k,
            top_p=config.top_p,
            seed=config.seed,
            normalise=normalise,
        )
    return partial(greedy_search, max_length=config.max_length, normalise=normalise, recorder=recorder)


def build_beam(config: SearchConfig) -> BeamSearch:
    return BeamSearch(
        size=config.size,
        max_length=config.max_length,
        normalise=build_normalise(config),
        stop=config.stop,
        n_best=config.n_best,
        coverage=config.coverage_penalty,
        groups=config.groups,
        diversity=config.diversity,
    )


def build_normalise(config: SearchConfig) -> Normalise:
    formula = {"power": length_normalised, "gnmt": gnmt_normalised}[config.length_norm]
    return partial(formula, alpha=config.length_penalty)


def build_average(config: SearchConfig) -> Average:
    return {"probability": mean_of_p, "log": mean_of_log_p}[config.ensemble]
