"""The end of a run: which weights become the model, how it searches, and the calibration of both."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.data.pair import Pair
from dragoman.durable import verify_folder
from dragoman.models.bundle import save_bundle
from dragoman.models.calibration import Calibration
from dragoman.tasks.answerers import learn_calibration
from dragoman.tasks.search_choice import SearchChoice, careful, choose, is_open
from dragoman.tasks.task import Answer
from dragoman.training.card import model_card
from dragoman.training.events import FinishedEvent, unsaved
from dragoman.training.loop import Loop
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.validate import ValidationResult
from dragoman.training.validation_outputs import NAME, write_outputs

PART = 100  # pairs that are decoded before the clock is read again
END_AFTER_SEARCH = 3.0  # calibration and report, in validations


class SelectedModel(NamedTuple):
    name: str  # "average", "best" or "last"
    weights: dict[str, Tensor]
    averaged: int  # number of checkpoints averaged
    result: ValidationResult


class DecodedPairs(NamedTuple):
    """Validation pairs with the answers of the model as it will run."""

    config: Config
    pairs: Sequence[Pair]
    answers: Sequence[Answer]
    choice: SearchChoice | None  # None if the settings leave none


def select_and_save(
    config: Config, out: Path, data: TrainingData, loop: Loop, progress: TrainingState, reason: str
) -> None:
    """Save the weights that perform best on the validation pairs as the model."""
    chosen = select(config, loop, progress)
    loop.validator.load(chosen.weights)
    final = decoded(config, loop, chosen.result)
    outputs = [answer.text for answer in final.answers]
    measured = loop.validator.task.measure(outputs, [pair.tgt for pair in final.pairs]) if outputs else {}
    calibration = calibrated(loop, final)
    facts: FinishedEvent = {
        "event": "finished",
        "step": progress.step,
        "reason": reason,
        "chosen": chosen.name,
        "averaged": chosen.averaged,
        "ties": chosen.result.value(config.training.valid_metric) == progress.best_value,
        "valid": {"loss": chosen.result.loss, **measured},
        "decoded": len(outputs),
        "search": final.choice and final.choice._asdict(),
        "sample": {**chosen.result.sample, "out": outputs[0]} if outputs else {},
        "seconds": loop.clock(),
        "folder": str(out / "model"),
    }
    card = model_card(final.config, {**facts, **data.facts(), "parameters": loop.stepper.num_parameters})
    save_bundle(out / "model", final.config, data.text, chosen.weights, card, calibration)
    try:
        write_outputs(out, final.pairs, outputs)
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


def decoded(config: Config, loop: Loop, result: ValidationResult) -> DecodedPairs:
    """Return validation pairs with the answers of the model's own search.

    Where the settings leave it open, that is the engine's beam, or the careful one if the beam scores below
    greedy search. There are as many pairs as the time of the run allows.
    """
    validator = loop.validator
    if not is_open(config):
        is_greedy = not validator.greedy or config.search.kind == "greedy"
        answers, pairs = list(result.answers) if is_greedy else [], validator.compared
        missing = range(len(answers), len(pairs))
        for part in parts_in_time(loop, missing, END_AFTER_SEARCH * result.seconds):
            answers += validator.answers(pairs[part])
        return DecodedPairs(config, pairs[: len(answers)], answers, None)
    greedy, beam, some = list(result.answers), list[Answer](), validator.compared
    for part in parts_in_time(loop, range(len(some)), END_AFTER_SEARCH * result.seconds):
        beam += validator.answers(some[part])
        greedy += validator.answers(some[len(greedy) : len(beam)], **validator.greedy)
    pairs = some[: len(beam)]
    texts = ([answer.text for answer in answers[: len(pairs)]] for answers in (greedy, beam))
    choice = choose(config, [pair.tgt for pair in pairs], *texts) if pairs else None
    if choice is None or not choice.is_careful:
        return DecodedPairs(config, pairs, beam, choice)
    config, final = careful(config), list[Answer]()
    for part in parts_in_time(loop, range(len(pairs)), END_AFTER_SEARCH * result.seconds):
        final += validator.answers(pairs[part], search=config.search)
    return DecodedPairs(config, pairs[: len(final)], final, choice)


def parts_in_time(loop: Loop, places: range, reserve: float) -> Iterator[slice]:
    """Yield parts of these pairs while the run has time for another one and a reserve; at least one."""
    for first in places[::PART]:
        start = time.perf_counter()
        yield slice(first, min(first + PART, places.stop))
        if loop.length.seconds_left(loop.clock()) < time.perf_counter() - start + reserve:
            return


def calibrated(loop: Loop, final: DecodedPairs) -> Calibration | None:
    """Return the calibration of confidence for the model as it will run, or None without decoded pairs."""
    return learn_calibration(loop.validator.answerer, final.pairs, final.answers) if final.pairs else None
