"""MLflow and Weights & Biases as they are installed, and a tracker that fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import load
from dragoman.errors import MissingExtra, UsageError
from dragoman.training.trackers.build import open_tracker
from dragoman.training.trackers.tracker import Tracker, settings

CONFIG = load(None, ["training.lr=0.25", "data.train=secret.tsv"])


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


@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_mlflow_has_one_run_of_two_sittings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    told(open_tracker("mlflow", tmp_path, CONFIG, silent), 1, 70)  # more than wait for one call
    told(open_tracker("mlflow", tmp_path, CONFIG, silent), 71, 80)
    client = tracking.MlflowClient()
    [run] = client.search_runs([client.get_experiment_by_name("dragoman").experiment_id])
    losses = client.get_metric_history(run.info.run_id, "train/loss")
    assert sorted(one.step for one in losses) == list(range(1, 81))
    assert run.data.metrics["valid/chrf"] == 40.0
    assert run.data.metrics["train/tokens_per_second"] == 200.0
    assert run.data.params["training.lr"] == "0.25"
    assert run.info.status == "FINISHED"


def test_weights_and_biases_keeps_a_run_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    told(open_tracker("wandb", tmp_path, CONFIG, silent), 1, 3)
    wandb.teardown()  # its own process writes the file, and may not be done
    [file] = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    written = file.read_bytes()
    assert b"valid/chrf" in written
    assert b"training.lr" in written
    assert b"secret.tsv" not in written


def test_what_the_data_is_called_is_not_told() -> None:
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


@pytest.mark.parametrize(("name", "module"), [("mlflow", "mlflow.tracking"), ("wandb", "wandb")])
def test_what_is_missing_is_named(
    name: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"dragoman.training.trackers.{name}", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        open_tracker(name, tmp_path, CONFIG, silent)
    assert caught.value.hint == f'pip install "dragoman[{name}]"'


@pytest.mark.filterwarnings("ignore")  # of MLflow's own
def test_a_tracker_that_cannot_be_set_up_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nosuch://server")
    with pytest.raises(UsageError, match=r"MLflow cannot be used: .*nosuch") as caught:
        open_tracker("mlflow", tmp_path, CONFIG, silent)
    assert caught.value.hint.endswith("or leave --mlflow out.")
