"""Experiment trackers by name. Their own environment variables determine where they write."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dragoman.config.root import Config
from dragoman.errors import UsageError, needs_extra
from dragoman.training.trackers.tracker import Say, Tracker, first_line

# Options of `dragoman train`, extras of the package and modules next to this one; each needs its own package.
TRACKERS = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "WeightsAndBiases"}


def open_tracker(name: str, out: Path, config: Config, say: Say) -> Tracker:
    kind = TRACKERS[name]
    with needs_extra(f"{kind} is not installed.", name):
        module = import_module(f"dragoman.training.trackers.{name}")
    try:
        tracker: Tracker = getattr(module, kind)(out, config, say)
    except Exception as error:  # each tracker has its own types
        raise UsageError(
            f"{kind} cannot be used: {first_line(error)}",
            where=f"--{name}",
            expected="a tracker that is configured by its own environment variables",
            hint=f"Configure it as described in its documentation, or leave --{name} out.",
        ) from None
    return tracker
