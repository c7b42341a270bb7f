"""Experiment trackers as listeners: TensorBoard, MLflow, Weights & Biases. They get the numbers of the events
and the settings, no text. Where they write is set as ever in their own environment variables."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dragoman.config.root import Config
from dragoman.errors import MissingExtra, UsageError
from dragoman.training.resume import leaves

Event = dict[str, Any]

STEP = ("loss", "nll", "lr", "norm")
VALID = ("loss", "chrf", "bleu", "exact_match")
KNOWN = "trackers.json"  # in the run's folder: the number that each tracker has given the run
PROJECT = "dragoman"
BUFFERED = 50  # updates that go to an MLflow server in one call


class Tracker:
    """A run is worth more than its record: a tracker that fails is left alone from then on, with a word."""

    def __init__(self, out: Path, config: Config, say: Callable[[str], None]) -> None:
        self.out, self.config, self._say = out, config, say
        self._is_lost = False

    def __call__(self, event: Event) -> None:
        if self._is_lost:
            return
        try:
            self._note(event)
        except Exception as error:  # of any network, disk or version
            self._is_lost = True
            self._say(f"{type(self).__name__} gets no more of this run: {first_line(error)}")

    def _note(self, event: Event) -> None:
        match event["event"]:
            case "start" | "resume":
                self.begin(event["step"])
            case "step":
                speed = event["tokens"] / max(event["seconds"], 1e-9)
                numbers = {**{name: event[name] for name in STEP}, "tokens_per_second": speed}
                self.write({f"train/{name}": value for name, value in numbers.items()}, event["step"])
            case "valid":
                found = {f"valid/{name}": event[name] for name in VALID if name in event}
                self.write(found, event["step"])

    def begin(self, step: int) -> None:
        """From this update on; what was written behind it is of a run that was killed."""
        raise NotImplementedError

    def write(self, numbers: dict[str, float], step: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def known(self) -> dict[str, str]:
        with suppress(OSError, ValueError):
            return dict(json.loads((self.out / KNOWN).read_text(encoding="utf-8")))
        return {}

    def remember(self, number: str) -> None:
        names = {**self.known(), type(self).__name__: number}
        (self.out / KNOWN).write_text(json.dumps(names), encoding="utf-8")


class TensorBoard(Tracker):
    """Into the folder tensorboard of the run."""

    def __init__(self, out: Path, config: Config, say: Callable[[str], None]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        super().__init__(out, config, say)
        self._make: Any = SummaryWriter
        self._writer: Any = None

    def begin(self, step: int) -> None:
        self._writer = self._make(str(self.out / "tensorboard"), purge_step=step + 1)

    def write(self, numbers: dict[str, float], step: int) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer:
            self._writer.close()


class MLflow(Tracker):
    """To MLFLOW_TRACKING_URI, into the experiment MLFLOW_EXPERIMENT_NAME or "dragoman"."""

    def __init__(self, out: Path, config: Config, say: Callable[[str], None]) -> None:
        from mlflow.tracking import MlflowClient

        super().__init__(out, config, say)
        self._client = MlflowClient()
        self._experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        self._run = ""
        self._waiting: list[Any] = []

    def begin(self, step: int) -> None:
        self._run = self.known().get(type(self).__name__, "") if step else ""
        if self._run:
            return
        found = self._client.get_experiment_by_name(self._experiment)
        number = found.experiment_id if found else self._client.create_experiment(self._experiment)
        self._run = self._client.create_run(number, run_name=self.out.absolute().name).info.run_id
        self.remember(self._run)
        for name, value in settings(self.config).items():
            self._client.log_param(self._run, name, str(value)[:500])

    def write(self, numbers: dict[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        self._waiting += [Metric(name, value, now, step) for name, value in numbers.items()]
        if len(self._waiting) >= BUFFERED * len(STEP):
            self._send()

    def _send(self) -> None:
        some, self._waiting = self._waiting, []
        self._client.log_batch(self._run, metrics=some)

    def close(self) -> None:
        if self._run and not self._is_lost:
            self._send()
            self._client.set_terminated(self._run)


class WeightsAndBiases(Tracker):
    """To the project WANDB_PROJECT or "dragoman"; with WANDB_MODE=offline into the run's folder alone."""

    def __init__(self, out: Path, config: Config, say: Callable[[str], None]) -> None:
        import wandb

        super().__init__(out, config, say)
        self._wandb: Any = wandb
        self._run: Any = None

    def begin(self, step: int) -> None:
        number = self.known().get(type(self).__name__) if step else None
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            name=self.out.absolute().name,
            id=number,
            resume="allow" if number else None,
            dir=str(self.out),
            config=settings(self.config),
            settings=self._wandb.Settings(silent=True, console="off"),
        )
        self.remember(self._run.id)

    def write(self, numbers: dict[str, float], step: int) -> None:
        self._run.log(numbers, step=step)

    def close(self) -> None:
        if self._run:
            self._run.finish()


TRACKERS: dict[str, type[Tracker]] = {
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "wandb": WeightsAndBiases,
}


def open_tracker(name: str, out: Path, config: Config, say: Callable[[str], None]) -> Tracker:
    try:
        return TRACKERS[name](out, config, say)
    except ImportError as error:
        raise MissingExtra(
            f"{TRACKERS[name].__name__} is not installed.",
            where=str(error),
            hint=f'pip install "dragoman[{name}]"',
        ) from None
    except Exception as error:
        raise UsageError(
            f"{TRACKERS[name].__name__} cannot be used: {first_line(error)}",
            where=f"--{name}",
            expected="a tracker that is set up in its own environment variables",
            hint=f"Set it up as its documentation says, or leave --{name} out.",
        ) from None


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]


def settings(config: Config) -> dict[str, Any]:
    """By their names on the command line; not those of the data, which may tell whose they are."""
    tables = config.model_dump(mode="json", include={"text", "model", "training", "search"})
    return {".".join(path): value for path, value in leaves(tables)}
