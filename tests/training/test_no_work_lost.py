"""Full disks, early stops, signals and NaN cost neither updates nor the best weights."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.numpy import load_file

from dragoman.config.load import load
from dragoman.config.root import Config
from dragoman.errors import CheckpointError
from dragoman.training.events import Events, rewind
from dragoman.training.run import Run, RunResult
from dragoman.training.state import checkpoint
from dragoman.training.validate import ValidationResult, Validator

PART = {"kind": "rnn", "width": 24, "embedding": 24}
Event = dict[str, Any]
Listener = Callable[[Event], None]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("data")
    for name, first, last in (("train", 100, 220), ("valid", 220, 228)):
        lines = [f"{n}\t{' '.join(reversed(str(n)))}\n" for n in range(first, last)]
        (home / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    return home


def settings(data: Path, **training: Any) -> Config:
    tables = {
        "data": {"train": str(data / "train.tsv"), "valid": str(data / "valid.tsv")},
        "text": {"kind": "char"},
        "model": {"encoder": PART, "decoder": PART},
        "search": {"kind": "greedy", "max_length": 8},
        "training": {
            "updates": 12,
            "batch_tokens": 100,
            "threads": 1,
            "warmup": 2,
            "checkpoint_every": 3,
            "validate_every": 3,
            "valid_decode": 2,
            "valid_metric": "loss",
            "precision": "fp32",
            **training,
        },
    }
    return load(None, base=tables)


def train(config: Config, out: Path, *listeners: Listener) -> RunResult:
    return Run(config, out, list(listeners), lambda _: True).train()


def weights(out: Path) -> dict[str, bytes]:
    arrays = load_file(out / "model" / "weights.safetensors")
    return {name: array.tobytes() for name, array in arrays.items()}


def saved(out: Path) -> list[int]:
    return [checkpoint.step_of(folder) for folder in checkpoint.checkpoints_of(out / "checkpoints")]


def at(kind: str, step: int, act: Callable[[], object]) -> Listener:
    def listen(event: Event) -> None:
        if event["event"] == kind and event.get("step", 0) == step:
            act()

    return listen


@pytest.fixture
def disk() -> Iterator[Callable[[int | None], None]]:
    """Sets how many bytes a file may have, as if the disk were full behind them; None is as many as ever."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def holds(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before[0] if size is None else size, before[1]))

    yield holds
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
def test_a_full_disk_is_said_and_tried_again_and_the_run_goes_on(
    data: Path, tmp_path: Path, disk: Callable[[int | None], None]
) -> None:
    config, told = settings(data, average=1), list[Event]()
    train(config, tmp_path / "whole")
    full = at("step", 4, lambda: disk(20_000))  # less than the moments of Adam need
    free = at("step", 8, lambda: disk(None))
    assert train(config, tmp_path / "run", told.append, full, free).reason == "done"
    [unsaved] = [event for event in told if event["event"] == "unsaved"]
    assert (unsaved["step"], unsaved["again"]) == (6, 9)
    assert unsaved["what"].startswith("step-00000006 could not be written: File too large")
    assert unsaved["where"] == str(tmp_path / "run" / "checkpoints" / "step-00000006")
    assert "MB needed" in unsaved["expected"]
    assert "MB free" in unsaved["expected"]
    assert [event["step"] for event in told if event["event"] == "checkpoint"] == [3, 9, 12]
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")


@pytest.mark.slow
def test_only_a_last_save_without_room_fails_the_run_with_the_command_that_resumes(
    data: Path, tmp_path: Path, disk: Callable[[int | None], None]
) -> None:
    config, out = settings(data, average=1), tmp_path / "run"
    train(config, tmp_path / "whole")

    def stop() -> None:
        disk(20_000)
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(CheckpointError, match="step-00000008 could not be written") as caught:
        train(config, out, at("step", 7, stop))
    assert caught.value.hint == f"Make room, then resume from update 6: dragoman train -o {out}"
    disk(None)
    assert train(config, out).reason == "done"
    assert weights(out) == weights(tmp_path / "whole")


@pytest.mark.slow
def test_a_model_that_cannot_be_written_costs_no_update(
    data: Path, tmp_path: Path, disk: Callable[[int | None], None]
) -> None:
    config, out, steps = settings(data), tmp_path / "run", list[Event]()
    train(config, tmp_path / "whole")
    with pytest.raises(CheckpointError, match="model could not be written") as caught:
        train(config, out, at("checkpoint", 12, lambda: disk(10_000)))
    assert caught.value.hint == f"Make room, then resume from update 12: dragoman train -o {out}"
    disk(None)
    assert train(config, out, steps.append).reason == "done"
    assert not [event for event in steps if event["event"] == "step"]
    assert weights(out) == weights(tmp_path / "whole")


@pytest.mark.slow
def test_a_disk_that_was_full_from_the_first_update_on_loses_no_event(
    data: Path, tmp_path: Path, disk: Callable[[int | None], None]
) -> None:
    config, told = settings(data, average=1), list[Event]()
    train(config, tmp_path / "whole")
    full = at("timing", 0, lambda: disk(10))
    free = at("step", 11, lambda: disk(None))
    assert train(config, tmp_path / "run", told.append, full, free).reason == "done"
    failed = [event["what"].split()[0] for event in told if event["event"] == "unsaved"]
    assert {"settings.toml", "events.jsonl", "step-00000003"} <= set(failed)
    assert failed.count("events.jsonl") == 1  # it is said once
    assert steps(tmp_path / "run") == steps(tmp_path / "whole")
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")


def steps(out: Path) -> list[tuple[int, float]]:
    events = [
        json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    return [(event["step"], event["loss"]) for event in events if event["event"] == "step"]


def test_events_that_found_no_room_are_written_when_there_is_some(
    tmp_path: Path, disk: Callable[[int | None], None]
) -> None:
    file, told = tmp_path / "events.jsonl", list[Event]()
    events = Events(file, [told.append])
    disk(100)
    for step in range(20):
        events.emit({"event": "step", "step": step})
    assert len(told) == 21
    assert [event["what"] for event in told if event["event"] == "unsaved"] == [
        "events.jsonl could not be written: File too large."
    ]
    disk(None)
    events.close()
    assert [json.loads(line)["step"] for line in file.read_text().split("\n") if line] == list(range(20))


def test_events_after_the_checkpoint_and_a_half_line_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    lines = [json.dumps({"event": "step", "step": step}) for step in range(5)]
    for tail in ("", '{"event": "st', '{"event": "step", "step": 3}', "\0\0\0\n"):
        file.write_text("\n".join(lines) + "\n" + tail)
        rewind(file, 3)
        assert file.read_text() == "\n".join(lines[:4]) + "\n"


@pytest.mark.parametrize("killed", ["in the end", "after an update"])
def test_a_run_that_stopped_early_resumes_to_the_same_weights(
    data: Path, tmp_path: Path, killed: str
) -> None:
    """So high a learning rate soon makes it worse."""
    config = settings(data, updates=60, patience=2, lr=2.0, warmup=0, schedule="constant")
    whole = train(config, tmp_path / "whole")
    assert whole.reason == "early"
    out = tmp_path / "run"

    def die() -> None:
        raise RuntimeError("killed")

    step = whole.step if killed == "in the end" else whole.step - 1
    kind = "checkpoint" if killed == "in the end" else "step"
    with pytest.raises(RuntimeError, match="killed"):
        train(config, out, at(kind, step, die))
    resumed = train(config, out)
    assert (resumed.reason, resumed.step) == (whole.reason, whole.step)
    assert weights(out) == weights(tmp_path / "whole")


def test_the_best_weights_are_kept_wherever_they_are_validated(data: Path, tmp_path: Path) -> None:
    config, told = settings(data, validate_every=2, checkpoint_every=100, lr=2.0, updates=21), list[Event]()
    train(config, tmp_path, told.append)
    [finished] = [event for event in told if event["event"] == "finished"]
    best = min(event["loss"] for event in told if event["event"] == "valid")
    assert best < next(event["loss"] for event in reversed(told) if event["event"] == "valid")
    assert finished["chosen"] == "best"
    assert finished["valid"]["loss"] == best


def test_the_last_weights_are_among_those_to_choose_from(data: Path, tmp_path: Path) -> None:
    """They are best here, and their mean with earlier ones is worse; the last update is no regular save."""
    config, told = settings(data, updates=20, checkpoint_every=3, validate_every=3, lr=0.01), list[Event]()
    train(config, tmp_path, told.append)
    [finished] = [event for event in told if event["event"] == "finished"]
    last = [event["loss"] for event in told if event["event"] == "valid"][-1]
    assert last == min(event["loss"] for event in told if event["event"] == "valid")
    assert finished["valid"]["loss"] <= last
    assert finished["chosen"] == "best"


def test_a_validation_that_is_not_a_number_is_never_the_best(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, calls = Validator.__call__, list[int]()

    def once_nan(self: Validator, weights: dict[str, torch.Tensor]) -> ValidationResult:
        calls.append(0)
        verdict = judge(self, weights)
        return verdict._replace(loss=math.nan) if len(calls) in (1, 5) else verdict

    monkeypatch.setattr(Validator, "__call__", once_nan)
    told = list[Event]()
    train(settings(data), tmp_path, told.append)  # 4 validations, then those of the end: the mean is NaN
    assert [event["best"] for event in told if event["event"] == "valid"] == [False, True, True, True]
    [finished] = [event for event in told if event["event"] == "finished"]
    assert math.isfinite(finished["valid"]["loss"])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_model_is_made_is_answered_at_once_and_costs_nothing(
    data: Path, tmp_path: Path, number: signal.Signals
) -> None:
    config, out, struck = settings(data, valid_decode=8), tmp_path / "run", list[float]()
    train(config, tmp_path / "whole")

    def strike() -> None:
        struck.append(time.monotonic())
        os.kill(os.getpid(), number)

    timer = threading.Timer(0.02, strike)  # the end takes longer: it decodes, compares and writes
    outcome = train(config, out, at("checkpoint", 12, timer.start))
    assert time.monotonic() - struck[0] < 2
    assert (outcome.reason, outcome.signal) == ("asked", number)
    assert not (out / "model").exists()
    assert train(config, out).reason == "done"
    assert weights(out) == weights(tmp_path / "whole")


def test_a_closed_terminal_saves(data: Path, tmp_path: Path) -> None:
    hang_up = at("step", 4, lambda: os.kill(os.getpid(), signal.SIGHUP))
    before = signal.signal(signal.SIGHUP, lambda *_: pytest.fail("it was not caught"))
    try:
        outcome = train(settings(data), tmp_path, hang_up)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (outcome.reason, outcome.signal) == ("asked", signal.SIGHUP)
    assert saved(tmp_path)[-1] == outcome.step == 5


def test_a_run_that_is_to_outlive_its_terminal_does(data: Path, tmp_path: Path) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        hang_up = at("step", 4, lambda: os.kill(os.getpid(), signal.SIGHUP))
        assert train(settings(data), tmp_path, hang_up).reason == "done"
    finally:
        signal.signal(signal.SIGHUP, before)
