"""The end of a run: which weights become the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.durable import verify_folder
from dragoman.models.bundle import save_bundle
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
    card = model_card(config, {**facts, **data.facts(), "parameters": len(loop.stepper.flat)})
    save_bundle(out / "model", config, data.text, choices[chosen], card)
    loop.events.tell("finished", **facts, folder=str(out / "model"))
