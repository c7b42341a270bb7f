"""The end of a run: which weights become the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.durable import verify_folder
from dragoman.inference.calibrate import calibrate
from dragoman.inference.translator import Translator
from dragoman.models.bundle import Bundle, save_bundle
from dragoman.models.calibration import Calibration
from dragoman.training import checkpoint
from dragoman.training.card import model_card
from dragoman.training.checkpoint import Progress
from dragoman.training.loop import Loop


def finish(
    config: Config, out: Path, data: TrainingData, loop: Loop, progress: Progress, reason: str
) -> None:
    """The mean of the last checkpoints, or the best one where that is better on the held-out pairs."""
    flat = loop.stepper.flat
    last = {name: view.clone() for name, view in flat.views(flat.master).items()}
    folders = [f for f in checkpoint.regular(loop.home, loop.checkpoint_every) if verify_folder(f) is None]
    before = [f for f in folders if checkpoint.step_of(f) < progress.step]
    choices = {
        "average": checkpoint.average(last, before[max(0, len(before) + 1 - config.training.average) :])
    }
    for folder in folders:
        if checkpoint.step_of(folder) == progress.best_step:
            choices["best"] = checkpoint.weights_of(folder)
    verdicts = {name: loop.validator(weights) for name, weights in choices.items()}
    chosen = max(verdicts, key=lambda name: verdicts[name].value(config.training.valid_metric))
    facts: dict[str, Any] = {
        "step": progress.step,
        "reason": reason,
        "seconds": progress.seconds,
        "chosen": chosen,
        "valid": {"loss": verdicts[chosen].loss, **verdicts[chosen].metrics},
        "sample": verdicts[chosen].sample,
    }
    calibration = calibrated(config, loop, choices[chosen])
    card = model_card(config, {**facts, **data.facts(), "parameters": len(loop.stepper.flat)})
    save_bundle(out / "model", config, data.text, choices[chosen], card, calibration)
    loop.events.tell("finished", **facts, folder=str(out / "model"))


def calibrated(config: Config, loop: Loop, weights: Mapping[str, Tensor]) -> Calibration | None:
    """How sure the model may be, learned on the held-out pairs that validation decodes, if it does."""
    validator = loop.validator
    if not validator.decoded:
        return None
    with torch.no_grad():
        for name, p in validator.model.named_parameters():
            p.copy_(weights[name])
    return calibrate(Translator(Bundle(config, validator.text, validator.model)), validator.decoded)
