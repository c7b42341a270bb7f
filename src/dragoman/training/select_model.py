"""Selection of the weights that become the model at the end of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.durable import verify_folder
from dragoman.models.bundle import save_bundle
from dragoman.models.calibration import Calibration
from dragoman.tasks.answerers import learn_calibration
from dragoman.training.card import model_card
from dragoman.training.events import FinishedEvent, unsaved
from dragoman.training.loop import Loop
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.validate import ValidationResult
from dragoman.training.validation_outputs import NAME, write_outputs


class SelectedModel(NamedTuple):
    name: str  # "average", "best" or "last"
    weights: dict[str, Tensor]
    averaged: int  # number of checkpoints averaged
    result: ValidationResult


def select_and_save(
    config: Config, out: Path, data: TrainingData, loop: Loop, progress: TrainingState, reason: str
) -> None:
    """Save the weights that perform best on the validation pairs as the model."""
    chosen = select(config, loop, progress)
    calibration = calibrated(loop, chosen)
    facts: FinishedEvent = {
        "event": "finished",
        "step": progress.step,
        "reason": reason,
        "chosen": chosen.name,
        "averaged": chosen.averaged,
        "ties": chosen.result.value(config.training.valid_metric) == progress.best_value,
        "valid": {"loss": chosen.result.loss, **chosen.result.metrics},
        "sample": chosen.result.sample,
        "seconds": loop.clock(),
        "folder": str(out / "model"),
    }
    card = model_card(config, {**facts, **data.facts(), "parameters": loop.stepper.num_parameters})
    save_bundle(out / "model", config, data.text, chosen.weights, card, calibration)
    try:
        write_outputs(out, loop.validator.decoded, chosen.result.outputs)
    except OSError as error:  # the model is saved, and can be run without
        loop.events.emit(unsaved(out / NAME, error))
    loop.events.emit(facts)


def select(config: Config, loop: Loop, progress: TrainingState) -> SelectedModel:
    """Return the best of the average, best and last weights. In a tie, the lower loss decides."""

    def worth(chosen: SelectedModel) -> tuple[float, float]:
        value, loss = chosen.result.value(config.training.valid_metric), chosen.result.loss
        return -math.inf if math.isnan(value) else value, -math.inf if math.isnan(loss) else -loss

    steps = {"best": progress.best_step, "last": progress.step}

    def judged(name: str, weights: dict[str, Tensor], averaged: int) -> SelectedModel:
        known = loop.validated.get(steps[name]) if name in steps else None
        return SelectedModel(name, weights, averaged, known or loop.validator(weights))

    return max((judged(*candidate) for candidate in candidates_of(config, loop, progress)), key=worth)


def candidates_of(
    config: Config, loop: Loop, progress: TrainingState
) -> Iterator[tuple[str, dict[str, Tensor], int]]:
    """Yield name, weights and number of checkpoints, one candidate at a time: each has the size of the model.

    They always include the best and the last weights.
    """
    last = {name: weight.to("cpu", copy=True) for name, weight in loop.stepper.weights().items()}
    before = [checkpoint.folder_of(loop.home, step) for step in progress.regular if step < progress.step]
    before = [folder for folder in before if verify_folder(folder) is None]
    before = before[max(0, len(before) + 1 - config.training.average) :]
    if before:
        yield "average", checkpoint.average(last, before), len(before) + 1
    best = checkpoint.folder_of(loop.home, progress.best_step)
    if progress.best_step < progress.step and verify_folder(best) is None:
        yield "best", checkpoint.weights_of(best), 1
    yield "best" if progress.best_step == progress.step else "last", last, 1


def calibrated(loop: Loop, chosen: SelectedModel) -> Calibration | None:
    """Return the calibration of confidence, learned on the decoded validation pairs, or None without any."""
    validator = loop.validator
    if not validator.decoded:
        return None
    validator.load(chosen.weights)
    return learn_calibration(validator.answerer, validator.decoded, chosen.result.answers)
