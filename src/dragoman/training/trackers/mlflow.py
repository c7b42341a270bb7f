"""The MLflow tracker."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from dragoman.config.root import Config
from dragoman.training.trackers.tracker import PROJECT, Say, Tracker, settings

NUMBERS, SETTINGS = 250, 100  # sent to a server in one call; it accepts 1,000 and 100


class MLflow(Tracker):
    """A tracker that logs to MLFLOW_TRACKING_URI, in the experiment MLFLOW_EXPERIMENT_NAME or "dragoman"."""

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
        existing = self._client.get_experiment_by_name(self._experiment)
        number = existing.experiment_id if existing else self._client.create_experiment(self._experiment)
        self._run = self._client.create_run(number, run_name=self.out.absolute().name).info.run_id
        self.remember(self._run)
        named = [Param(name, str(value)[:500]) for name, value in settings(self.config).items()]
        for start in range(0, len(named), SETTINGS):
            self._client.log_batch(self._run, params=named[start : start + SETTINGS])

    def write(self, numbers: dict[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        self._waiting += [Metric(name, value, now, step) for name, value in numbers.items()]
        if len(self._waiting) >= NUMBERS:
            self._send()

    def _send(self) -> None:
        some, self._waiting = self._waiting, []
        self._client.log_batch(self._run, metrics=some)

    def close(self) -> None:
        if self._run and not self._is_lost:
            self._send()
            self._client.set_terminated(self._run)
