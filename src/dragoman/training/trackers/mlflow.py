"""MLflow."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mlflow.entities import Metric
from mlflow.tracking import MlflowClient

from dragoman.config.root import Config
from dragoman.training.trackers.tracker import PROJECT, STEP, Say, Tracker, settings

BUFFERED = 50  # updates that go to a server in one call


class MLflow(Tracker):
    """To MLFLOW_TRACKING_URI, into the experiment MLFLOW_EXPERIMENT_NAME or "dragoman"."""

    def __init__(self, out: Path, config: Config, say: Say) -> None:
        super().__init__(out, config, say)
        self._client = MlflowClient()
        self._experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        self._run = ""
        self._waiting: list[Metric] = []

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
