"""Experiment trackers by name. Their own environment variables determine where they write."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dragoman.config.root import Config
from dragoman.errors import MissingExtra, UsageError
from dragoman.training.trackers.tracker import Say, Tracker, first_line

# Options of `dragoman train`, extras of the package and modules next to this one; each needs its own package.
TRACKERS = {"tensorboard": "TensorBoard", "wandb": "WeightsAndBiases"}


def open_tracker(name: str, out: Path, config: Config, say: Say) -> Tracker:
    kind = TRACKERS[name]
    try:
        module = import_module(f"dragoman.training.trackers.{name}")
    except ImportError as error:  # not installed, or too old for torch
        raise MissingExtra(
            f"{kind} is not installed.", where=str(error), hint=f'pip install "dragoman[{name}]"'
        ) from None
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
