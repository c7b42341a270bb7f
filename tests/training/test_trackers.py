"""TensorBoard and Weights & Biases as they are installed, and a tracker that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import load
from dragoman.errors import MissingExtra, UsageError
from dragoman.training.trackers.build import open_tracker
from dragoman.training.trackers.tracker import Tracker, settings

SECRETS = ["data.train=secret.tsv", "training.init_from=secret/model"]
CONFIG = load(None, ["training.lr=0.25", *SECRETS])


def step(number: int) -> dict[str, Any]:
    numbers = {"loss": 2.0 - number / 10, "nll": 2.0, "lr": 0.1, "norm": 1.0, "tokens": 100, "seconds": 0.5}
    return {"event": "step", "step": number, **numbers}


def told(tracker: Tracker, first: int, last: int) -> None:
    tracker({"event": "resume" if first > 1 else "start", "step": first - 1})
    for number in range(first, last + 1):
        tracker(step(number))
    tracker({"event": "valid", "step": last, "loss": 1.5, "chrf": 40.0, "exact_match": 12.5})
    tracker.close()


def silent(line: str) -> None:
    raise AssertionError(line)


def test_tensorboard_has_one_curve_of_two_sittings(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    told(open_tracker("tensorboard", tmp_path, CONFIG, silent), 1, 7)
    told(open_tracker("tensorboard", tmp_path, CONFIG, silent), 6, 9)  # it was killed after a checkpoint at 5
    found = accumulator.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert sorted(one.step for one in found.Scalars("train/loss")) == list(range(1, 10))
    assert found.Scalars("valid/chrf")[-1].value == 40.0


def test_weights_and_biases_keeps_a_run_in_its_folder_and_nothing_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr("socket.gethostname", lambda: "host-of-mine")
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://example.org/repository.git"], check=True)
    told(open_tracker("wandb", tmp_path, CONFIG, silent), 1, 3)
    told(open_tracker("wandb", tmp_path, CONFIG, silent), 4, 5)
    wandb.teardown()  # its own process writes the file, and may not be done
    first, second = sorted(
        (tmp_path / "wandb").glob("offline-run-*/*.wandb"), key=lambda file: file.stat().st_mtime
    )
    assert first.name == second.name  # the ID of the run, by which its server joins them
    written = first.read_bytes()
    assert b"valid/chrf" in written
    assert b"training.lr" in written
    for private in ("secret", "host-of-mine", "repository", str(tmp_path), "memory_percent", "numpy"):
        assert private.encode() not in written
    assert not list((tmp_path / "wandb").rglob("requirements.txt"))


def test_what_the_files_are_called_is_not_told() -> None:
    found = settings(CONFIG)
    assert found["training.lr"] == 0.25
    assert not any(name.startswith("data.") or "secret" in str(value) for name, value in found.items())


def test_a_tracker_that_fails_says_so_once_and_the_run_goes_on(tmp_path: Path) -> None:
    class Failing(Tracker):
        def begin(self, step: int) -> None:
            raise ConnectionError("no route to host\nand more")

        def write(self, numbers: dict[str, float], step: int) -> None:
            raise AssertionError("it was left alone")

    said: list[str] = []
    tracker = Failing(tmp_path, CONFIG, said.append)
    tracker({"event": "start", "step": 0})
    tracker(step(1))
    assert said == ["Failing is disabled for the rest of this run: no route to host"]


@pytest.mark.parametrize(("name", "module"), [("tensorboard", "torch.utils.tensorboard"), ("wandb", "wandb")])
def test_what_is_missing_is_named(
    name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"dragoman.training.trackers.{name}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        open_tracker(name, tmp_path, CONFIG, silent)
    assert caught.value.hint == f'pip install "dragoman[{name}]"'


def test_a_tracker_that_cannot_be_set_up_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no such server: nosuch")

    monkeypatch.setattr("dragoman.training.trackers.tensorboard.TensorBoard.__init__", fail)
    with pytest.raises(UsageError, match="TensorBoard cannot be used: no such server: nosuch") as caught:
        open_tracker("tensorboard", tmp_path, CONFIG, silent)
    assert caught.value.hint.endswith("or leave --tensorboard out.")
