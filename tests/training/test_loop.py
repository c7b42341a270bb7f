"""What a run tells of its updates."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.config.load import load
from dragoman.data.collate import IdPair, collate
from dragoman.data.loader import Loader
from dragoman.errors import TrainingError
from dragoman.protocols import Batch
from dragoman.training.plan import Plan
from dragoman.training.run import Run
from dragoman.training.state.checkpoint import checkpoints_of, read_state
from dragoman.training.validate import ValidationResult, Validator

PART = {"kind": "transformer", "layers": 1, "width": 8, "heads": 2, "ffn": 8}
PAIRS = [(f"a{n % 7} b{n % 5}", f"c{n % 5} d{n % 7}") for n in range(200)]


def run(folder: Path, **training: Any) -> tuple[Run, list[Plan]]:
    for name, pairs in {"train": PAIRS, "valid": PAIRS[:5]}.items():
        text = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")
    config = load(
        None,
        base={
            "data": {"train": [str(folder / "train.tsv")], "valid": {"files": [str(folder / "valid.tsv")]}},
            "text": {"kind": "char"},
            "model": {"encoder": PART, "decoder": PART},
            "training": {
                "threads": 1,
                "batch_tokens": 200,
                "valid_decode": 0,
                "precision": "fp32",
                **training,
            },
        },
    )
    plans: list[Plan] = []
    return Run(config, folder / "out", [], lambda plan: not plans.append(plan)), plans


def steps(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "out" / "events.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [event for line in lines if (event := json.loads(line))["event"] == "step"]


def test_an_update_that_was_skipped_names_its_examples(tmp_path: Path) -> None:
    diverging, _ = run(tmp_path, updates=30, lr=1e30, warmup=0, clip=0.0)
    with pytest.raises(TrainingError, match="not a finite number for 10 updates") as caught:
        diverging.train()
    assert "events.jsonl" in caught.value.where
    found = steps(tmp_path)
    assert [step["applied"] for step in found][-10:] == [False] * 10
    for step in found:
        assert ("examples" in step) != step["applied"]
    rows = found[-1]["examples"]["corpus-0"]
    # a pair has 5 letters and </s> on each side
    assert 6 * len(rows) == found[-1]["tokens"]
    assert len(set(rows)) == len(rows)
    assert all(0 <= row < len(PAIRS) for row in rows)


def test_waiting_for_data_is_a_part_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk, or sub-words drawn anew, may be slower than the model."""
    clock, waited = time.perf_counter, 0.0

    def slow(pairs: Sequence[IdPair]) -> Batch:
        nonlocal waited
        waited += 1000.0
        return collate(pairs)

    monkeypatch.setattr("dragoman.tasks.collate.collate", slow)
    monkeypatch.setattr(Loader, "batches", Loader.stream)  # nothing is read ahead
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + waited)
    slowed, plans = run(tmp_path, updates=3)
    slowed.train()
    assert plans[0].seconds_per_update > 1000
    assert all(step["seconds"] > 1000 for step in steps(tmp_path))


@pytest.mark.parametrize("slow", [1, 2])
def test_one_slow_validation_does_not_end_a_budget_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: int
) -> None:
    """The time of several validations is reserved for the end of a run."""
    calls, validate = [], Validator.__call__

    def slow_once(self: Validator, weights: Mapping[str, Tensor]) -> ValidationResult:
        calls.append(weights)
        time.sleep(0.7 if len(calls) == slow else 0.0)
        return validate(self, weights)

    monkeypatch.setattr(Validator, "__call__", slow_once)
    budgeted, _ = run(tmp_path, budget="5s")
    budgeted.train()
    events = [json.loads(line) for line in (tmp_path / "out" / "events.jsonl").read_text().split("\n")[:-1]]
    assert len(calls) > 2
    assert events[-1]["event"] == "finished"
    assert events[-1]["seconds"] > 0.8 * 5


def test_a_checkpoint_before_the_first_validation_keeps_the_time_for_the_end(tmp_path: Path) -> None:
    budgeted, _ = run(tmp_path, budget="3s", checkpoint_every=5, validate_every=10**6)
    budgeted.train()
    saved = [read_state(folder) for folder in checkpoints_of(tmp_path / "out" / "checkpoints")]
    assert len(saved) > 1
    assert all(state.length and state.length["end"] < state.length["until"] for state in saved)


def test_the_best_and_the_last_weights_are_not_validated_again_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses, validate = iter([3.0, 1.0, 2.0, 9.0]), Validator.__call__  # the last is that of the average

    def foretold(self: Validator, weights: Mapping[str, Tensor]) -> ValidationResult:
        return validate(self, weights)._replace(loss=next(losses))

    monkeypatch.setattr(Validator, "__call__", foretold)
    run(tmp_path, updates=6, validate_every=2, checkpoint_every=2)[0].train()
    finished = json.loads((tmp_path / "out" / "events.jsonl").read_text().split("\n")[-2])
    assert (finished["chosen"], finished["valid"]["loss"]) == ("best", 1.0)
    assert next(losses, None) is None


def test_denormal_numbers_are_zero_while_a_run_trains(tmp_path: Path) -> None:
    tiny, seen = torch.tensor([1e-39]), []
    trained, _ = run(tmp_path, updates=2)
    trained.listeners.append(lambda event: seen.append(bool(tiny.mul(1.0).view(torch.int32))))
    trained.train()
    assert seen
    assert not any(seen)
    assert tiny.mul(1.0).view(torch.int32) > 0
