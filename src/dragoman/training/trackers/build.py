"""Experiment trackers by name. Where they write is set as ever in their own environment variables."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dragoman.config.root import Config
from dragoman.errors import MissingExtra, UsageError
from dragoman.training.trackers.tracker import Say, Tracker, first_line

# Options of `dragoman train`, extras of the package and modules beside this one; each brings its own package.
TRACKERS = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "WeightsAndBiases"}


def open_tracker(name: str, out: Path, config: Config, say: Say) -> Tracker:
    kind = TRACKERS[name]
    try:
        module = import_module(f"dragoman.training.trackers.{name}")
    except ImportError as error:
        raise MissingExtra(
            f"{kind} is not installed.", where=str(error), hint=f'pip install "dragoman[{name}]"'
        ) from None
    try:
        tracker: Tracker = getattr(module, kind)(out, config, say)
    except Exception as error:  # each has its own
        raise UsageError(
            f"{kind} cannot be used: {first_line(error)}",
            where=f"--{name}",
            expected="a tracker that is set up in its own environment variables",
            hint=f"Set it up as its documentation says, or leave --{name} out.",
        ) from None
    return tracker
