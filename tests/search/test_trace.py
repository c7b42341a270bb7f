"""The record of a search: complete, true to what was returned, and plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.config.search import SearchConfig
from dragoman.search.build import build
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.trace import NO_PLACE, ROOT, TOO_LOW, Candidate, Recorder, Trace
from dragoman.text.specials import EOS
from support.steppers import Prefixes, Script, rescore, sentences

CONFIGS = {
    "greedy": SearchConfig(kind="greedy", max_length=6),
    "beam": SearchConfig(size=3, max_length=6),
    "patient": SearchConfig(size=3, max_length=6, stop="all", length_penalty=0.6),
    "groups": SearchConfig(size=4, groups=2, max_length=6),
}


def traced(config: SearchConfig, stepper: Any, *sources: int) -> tuple[list[list[Hypothesis]], list[Trace]]:
    recorder = Recorder()
    found = build(config, recorder=recorder)(stepper, *sentences(*sources))
    return found, recorder.traces(found)


def path(trace: Trace, number: int) -> list[Candidate]:
    steps: list[Candidate] = []
    while number != ROOT:
        steps.append(trace.candidates[number - 1])
        number = steps[-1].parent
    return steps[::-1]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_search_that_is_recorded_finds_the_same(name: str) -> None:
    stepper = Prefixes(seed=4)
    found, _ = traced(CONFIGS[name], stepper, 1, 2, 3)
    assert found == build(CONFIGS[name])(stepper, *sentences(1, 2, 3))


@pytest.mark.parametrize("name", CONFIGS)
def test_every_candidate_has_a_parent_that_was_open_and_the_probability_of_its_path(name: str) -> None:
    stepper = Prefixes(seed=4)
    _, traces = traced(CONFIGS[name], stepper, 1, 2, 3)
    for source, trace in enumerate(traces, start=1):
        assert [c.number for c in trace.candidates] == list(range(1, len(trace.candidates) + 1))
        for candidate in trace.candidates:
            steps = path(trace, candidate.number)
            assert [c.step for c in steps] == list(range(1, len(steps) + 1))
            assert all(c.fate == "open" and c.group == candidate.group for c in steps[:-1])
            tokens = tuple(c.token for c in steps)
            again = rescore(stepper, source, tokens, finished=False)
            assert candidate.log_p == pytest.approx(again, abs=1e-5)


@pytest.mark.parametrize("name", CONFIGS)
def test_what_was_returned_is_in_the_trace(name: str) -> None:
    found, traces = traced(CONFIGS[name], Prefixes(seed=9), 1, 2, 3)
    for hypotheses, trace in zip(found, traces, strict=True):
        for h, number in zip(hypotheses, trace.best, strict=True):
            tokens = tuple(c.token for c in path(trace, number))
            assert tokens == ((*h.tokens, EOS) if h.finished else h.tokens)
            last = trace.candidates[number - 1]
            assert last.fate == ("ended" if h.finished else "open")
            assert (last.score, last.log_p) == (pytest.approx(h.score), pytest.approx(h.log_p))


def test_what_was_pruned_says_why() -> None:
    """W = 2, and p(</s>, A, B) = 0.1, 0.5, 0.4: at the first step the end comes third."""
    (_,), (trace,) = traced(
        SearchConfig(size=2, max_length=2, stop="all"), Script([0.0, 0.0, 0.0, 0.1, 0.5, 0.4]), 1
    )
    first = [c for c in trace.candidates if c.step == 1]
    assert [(c.token, c.fate, c.why) for c in first] == [
        (4, "open", ""),
        (5, "open", ""),
        (EOS, "pruned", TOO_LOW),
    ]
    second = [c for c in trace.candidates if c.step == 2]
    assert [(c.parent, c.token, c.fate) for c in second] == [
        (1, 4, "open"),
        (1, 5, "open"),
        (2, 4, "pruned"),
        (2, 5, "pruned"),
    ]
    assert {c.why for c in second if c.fate == "pruned"} == {NO_PLACE}


def test_greedy_search_tells_what_it_nearly_took() -> None:
    (_,), (trace,) = traced(
        CONFIGS["greedy"], Script([0.0, 0.0, 0.0, 0.3, 0.5, 0.2], [0, 0, 0, 1.0, 0, 0]), 1
    )
    rows = [(c.step, c.token, c.fate, c.why) for c in trace.candidates]
    assert rows == [(1, 4, "open", ""), (1, EOS, "pruned", TOO_LOW), (2, EOS, "ended", "")]
    assert trace.best == (3,)


def test_a_trace_is_plain_data() -> None:
    _, (trace,) = traced(CONFIGS["beam"], Prefixes(seed=1), 1)
    told = json.loads(json.dumps(trace.to_json(lambda token: f"<{token}>")))
    assert told["best"] == list(trace.best)
    rows = [{k: v for k, v in row.items() if k != "text"} for row in told["candidates"]]
    assert tuple(Candidate(**row) for row in rows) == trace.candidates
    assert all(row["text"] == f"<{row['token']}>" for row in told["candidates"])
