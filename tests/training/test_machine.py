"""What the machine may change in a run, and what it may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from dragoman.cli.training_view import plan as plan_text
from dragoman.config.load import load
from dragoman.training import plan as planning
from dragoman.training.plan import Plan
from dragoman.training.run import Run

PAIRS = "".join(f"a{n % 7} b{n % 5}\tc{n % 5} d{n % 7}\n" for n in range(200))
PART = {"kind": "transformer", "layers": 1, "width": 8, "heads": 2, "ffn": 8}


def make_a_plan(folder: Path) -> tuple[Plan, int]:
    """The plan of a small run, and the threads it was timed with."""
    (folder / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    seen: list[tuple[Plan, int]] = []

    def confirm(plan: Plan) -> bool:
        seen.append((plan, torch.get_num_threads()))
        return False

    config = load(
        None,
        base={
            "data": {"train": [str(folder / "pairs.tsv")]},
            "text": {"kind": "char"},
            "model": {"encoder": PART, "decoder": PART},
            "training": {"updates": 5, "batch_tokens": 200},
        },
    )
    before = torch.get_num_threads()
    try:
        assert Run(config, folder / "out", [], confirm).train().reason == "planned"
    finally:
        torch.set_num_threads(before)
    return seen[0]


def test_threads_are_those_the_process_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, or under taskset: the machine has more than this process may use."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    plan, threads = make_a_plan(tmp_path)
    assert threads == 1
    assert plan.threads == 1


def test_the_plan_says_that_a_gpu_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        torch.cuda, "is_available", lambda: True
    )  # a driver, but no device that torch can use
    plan, _ = make_a_plan(tmp_path)
    assert plan.device == "cpu"
    config = load(None, base={"data": {"train": ["a.tsv"]}, "model": {"encoder": PART, "decoder": PART}})
    facts = {
        "vocabulary": [9, 9],
        "tgt_tokens": 9,
        "watched": 1,
        "leaked": 0,
        "counts": {},
        "bad": 0,
        "passed": {},
    }
    text = "\n".join(plan_text.describe(plan, config, tmp_path, facts))
    assert "No GPU is used" in text


def test_a_driver_that_torch_cannot_use_is_a_gpu_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "NVIDIA", tmp_path / "version")
    assert not planning.has_gpu()
    (tmp_path / "version").touch()
    assert planning.has_gpu()


def test_a_gpu_does_not_make_the_model_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 million pairs on 2 cores: transformer-base would train for weeks, GPU or not."""
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: "nvidia" in str(path) or exists(path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    pairs = tmp_path / "pairs.tsv"
    with pairs.open("wb") as file:
        file.write((b"x" * 129 + b"\n") * 3000)
        file.truncate(5_000_000 * 130)
    model = load(None, ["model.preset=auto"], {"data": {"train": [str(pairs)]}}).model
    assert model.preset == "transformer-small"
