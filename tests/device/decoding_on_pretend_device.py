"""Decoding on a pretend accelerator: no mix of devices, one wait per step, the outputs of the CPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from device import pretend_device as far
from device.kinds import CPU, LENGTHS, count_steps, crossed
from dragoman.data.pair import Pair
from dragoman.inference.quality.confidence import calibrate
from dragoman.inference.runtimes import torch as torch_runtime
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.seq2seq import Seq2Seq
from dragoman.search.beam import BeamSearch
from dragoman.search.greedy import greedy_search
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.lexical.constraints import Constraint, Form, Start, TokenBoundaries
from dragoman.search.lexical.search import constrained_search
from dragoman.search.processors.loop_guard import LoopGuard
from dragoman.search.repetition import LoopBounds
from dragoman.search.sample import SampleSearch
from dragoman.search.scores import length_normalised
from dragoman.training.distillation import distil
from support.pairs import V, batch_of, model_of
from support.tiny_bundle import RNN, WORDS, tiny, tiny_folder

EDGES = TokenBoundaries(torch.arange(V) % 2 == 0, torch.arange(V) % 3 == 0)
CONSTRAINTS = [
    [Constraint((Form((5, 6), "a"), Form((7,), "b", Start.AFTER_OPENING, closed=True)))],
    [],
    [Constraint((Form((9,), "c"),)), Constraint((Form((9,), "c"),), after=0)],
    [Constraint((Form((8, 4), "d", closed=True),))],
]


def constrained(stepper: Any, src: Tensor, keep: Tensor) -> list[list[Hypothesis]]:
    given = {"constraints": CONSTRAINTS, "edges": EDGES, "normalise": length_normalised}
    return constrained_search(stepper, src, keep, **given, size=3, max_length=7)


SEARCHES: dict[str, Callable[..., list[list[Hypothesis]]]] = {
    "greedy": lambda stepper, src, keep: greedy_search(stepper, src, keep, max_length=6),
    "beam": BeamSearch(3, 6),
    "coverage": BeamSearch(3, 6, coverage=0.3),
    "constrained": constrained,
    "groups": BeamSearch(4, 6, groups=2, diversity=0.5),
    "sample": SampleSearch(2, 6),
    "nucleus": SampleSearch(2, 6, temperature=1.5, top_k=9, top_p=0.8),
    "loops": BeamSearch(3, 6, loops=LoopBounds(1, 3)),
    "guarded": lambda stepper, *batch: greedy_search(
        LoopGuard(stepper, LoopBounds(1, 3)), *batch, max_length=9
    ),
}
READS_SOURCE = (
    "sample",
    "nucleus",
    "loops",
    "guarded",
)  # to seed its numbers, or to count the loops of the source


@pytest.mark.parametrize(("search", "pair"), crossed(SEARCHES))
def test_a_search_gives_the_tokens_of_the_cpu_and_waits_once_per_step(
    search: str, pair: tuple[str, str]
) -> None:
    @torch.no_grad()
    def tokens(model: Seq2Seq, device: torch.device) -> list[Any]:
        src, keep = (x.to(device) for x in batch_of(LENGTHS)[:2])
        model.to(device).eval()
        far.WAITS.clear()
        found = SEARCHES[search](model, src, keep)
        return [[hypothesis.tokens for hypothesis in row] for row in found]

    expected = tokens(model_of(pair), CPU)
    with far.pretend_device() as device:
        model = model_of(pair)
        steps = count_steps(model)
        assert tokens(model, device) == expected
        assert far.WAITS.total() == steps.total() + (search in READS_SOURCE), far.WAITS


# Settings of the search and options of a call, and how often a step waits: once, and once more for each
# automaton of characters. These are on the host, and read the tokens of each step.
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "default": ({}, {}, 1),
    "details": ({}, {"details": True}, 1),
    "sample": ({"kind": "sample"}, {}, 1),
    "mbr": ({"kind": "mbr", "samples": 3}, {}, 1),
    "glossary": ({}, {"glossary": {"b c": "d e"}}, 1),
    "forbid": ({}, {"forbid": ["a"]}, 2),
    "prefix": ({"kind": "greedy"}, {"prefix": "c d"}, 2),
    "prefix and forbid": ({"kind": "sample"}, {"prefix": "c d", "forbid": ["a"]}, 3),
    "glossary and prefix": ({}, {"prefix": "c d", "glossary": {"b c": "d e"}}, 2),
    "groups": ({"groups": 3, "diversity": 0.5, "coverage_penalty": 0.2}, {}, 1),
    "n-grams": ({"no_repeat_ngram": 2, "min_length": 3}, {}, 1),
}
SLOW = {"prefix and forbid", "glossary and prefix", "mbr"}
MARKED = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in OPTIONS]


@pytest.mark.parametrize("name", MARKED)
def test_the_runtime_writes_what_it_writes_on_a_cpu(name: str) -> None:
    settings, options, waits = OPTIONS[name]

    def outputs(device: torch.device) -> tuple[list[str], int]:
        bundle = tiny(max_length=6, **settings)
        bundle.model.to(device)
        steps, runtime = count_steps(bundle.model), TorchRuntime(bundle)
        far.WAITS.clear()
        found = [result.text for result in runtime(["a b c", "d e f g", "p"], **options)]
        return found, steps.total()

    expected = outputs(CPU)
    with far.pretend_device() as device:
        found, steps = outputs(device)
        assert (found, steps) == expected
        after = Counter({line: n for line, n in far.WAITS.items() if "real_ids" in line or "forced" in line})
        if name == "details":  # every output is scored in as many steps, which do not wait
            assert after.total() == 3
            steps //= 2
        else:  # samples read their source once
            assert after.total() == (settings.get("kind") in ("sample", "mbr"))
        assert (far.WAITS - after).total() == waits * steps, far.WAITS


def test_streaming_waits_once_per_token() -> None:
    with far.pretend_device() as device:
        bundle = tiny(max_length=8)
        bundle.model.to(device)
        steps = count_steps(bundle.model)
        runtime = TorchRuntime(bundle)
        far.WAITS.clear()
        assert "".join(runtime.stream("a b c"))
        assert far.WAITS.total() == steps.total() > 1, far.WAITS


def test_calibration_is_that_of_the_cpu() -> None:
    pairs = [Pair(" ".join(WORDS[i : i + 3]), " ".join(WORDS[i : i + 2]), i) for i in range(6)]

    def calibrated(device: torch.device) -> dict[str, Any]:
        bundle = tiny(RNN, max_length=6, size=2)
        bundle.model.to(device)
        far.WAITS.clear()
        return calibrate(TorchRuntime(bundle), pairs).model_dump()

    expected = calibrated(CPU)
    with far.pretend_device() as device:
        found = calibrated(device)
        waits = {line: n for line, n in far.WAITS.items() if "top1" in line}
    assert list(waits.values()) == [2]  # once per batch, which each half of the pairs is
    assert found.keys() == expected.keys()
    for name in ("slope", "offset", "lowest", "error"):
        assert found.pop(name) == pytest.approx(expected.pop(name), rel=1e-4), name
    assert np.allclose(found.pop("tokens"), expected.pop("tokens"), rtol=1e-4)
    assert found == expected


def test_a_teacher_writes_what_it_writes_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tmp_path / "texts"
    texts.write_text("".join(f"{' '.join(WORDS[i : i + 2])}\n" for i in range(6)), encoding="utf-8")
    teacher = tiny_folder(tmp_path / "teacher", seed=5, max_length=8, size=2)
    distil(teacher, tmp_path / "near", sources=[str(texts)])
    monkeypatch.setattr(torch_runtime, "choose_device", lambda name, where: far.FAR if name == "far" else CPU)
    with far.pretend_device():
        distil(teacher, tmp_path / "far", sources=[str(texts)], device="far")
        assert far.WAITS
    for name in ("distilled.src", "distilled.tgt"):
        assert (tmp_path / "far" / name).read_bytes() == (tmp_path / "near" / name).read_bytes()
