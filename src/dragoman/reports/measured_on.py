"""What a report is on: the files of a test set, or the validation pairs and outputs that a run kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.data.pair import Pair
from dragoman.errors import DataError, UsageError
from dragoman.inference.model import Model
from dragoman.reports.answered import config_of, usual_words
from dragoman.reports.report import EvaluationSet
from dragoman.reports.run_card import run_of
from dragoman.tasks.load import TaskModel, read_test
from dragoman.training.validation_outputs import read_outputs

TEST, VALIDATION, TRAINING = "test set", "validation set", "training data"
ITEMS = {"tag": "sentences", "lm": "lines"}  # of other tasks than translation


class MeasuredOn(NamedTuple):
    """`outputs` are None if they have to be found."""

    pairs: Sequence[Pair]
    test: EvaluationSet
    outputs: Sequence[str] | None = None


def measured_on(
    model: Model | TaskModel, files: Sequence[str | Path], languages: tuple[str, str] | None = None
) -> MeasuredOn:
    """Return the pairs of the files; without any, those of the settings' test set, or of the validation."""
    own = config_of(model).data.test
    if not files and own:
        files, languages = own.files, own.languages
    if files:
        pairs = read_test(model, files, languages)
        if not any(pair.tgt.strip() for pair in pairs):
            raise DataError(
                "There is nothing to report on: no pair of these files has a reference.",
                where=" ".join(map(str, files)),
                expected="a test set with text on both sides",
                hint=f"dragoman show {run_of(model.folder)} test.src test.tgt -o report.html",
            )
        return MeasuredOn(pairs, evaluation_set(model, kind_of(model, files, pairs), files, pairs))
    return validation_of(model)


def validation_of(model: Model | TaskModel) -> MeasuredOn:
    out, valid = run_of(model.folder), config_of(model).data.valid
    kept = read_outputs(out)
    if kept is None:
        raise UsageError(
            "There is nothing to report on: no files were given, the model's settings name no test set, and "
            "there is no record of its validation.",
            where=str(out),
            expected="the files of a test set",
            hint=f"dragoman show {out} test.src test.tgt -o report.html",
        )
    pairs, outputs = kept
    return MeasuredOn(pairs, evaluation_set(model, VALIDATION, valid.files if valid else (), pairs), outputs)


def kind_of(model: Model | TaskModel, files: Sequence[str | Path], pairs: Sequence[Pair]) -> str:
    """Return what the files are to the model: a test set, unless it was trained or validated on them."""
    data, given = config_of(model).data, resolved(files)
    if given <= resolved(file for corpus in data.train for file in corpus.files):
        return TRAINING
    kept = read_outputs(run_of(model.folder))  # by what they say, too: a run may have been moved
    is_kept = kept is not None and {pair[:2] for pair in kept[0]} <= {pair[:2] for pair in pairs}
    return VALIDATION if is_kept or (data.valid and given == resolved(data.valid.files)) else TEST


def resolved(files: Iterable[str | Path]) -> set[Path]:
    return {Path(file).resolve() for file in files}


def evaluation_set(
    model: Model | TaskModel, kind: str, files: Sequence[str | Path], pairs: Sequence[Pair]
) -> EvaluationSet:
    config = config_of(model)
    has_sentences = config.is_text_to_text and usual_words([pair.tgt for pair in pairs]) > 1
    items = ITEMS.get(config.task, "sentences" if has_sentences else "examples")
    return EvaluationSet(kind, tuple(Path(file).name for file in files), len(pairs), items)


def kept_outputs(model: Model | TaskModel, pairs: Sequence[Pair]) -> Sequence[str] | None:
    """Return the outputs that the run kept, if it kept those for the same pairs."""
    kept = read_outputs(run_of(model.folder))
    if kept is None or [pair[:2] for pair in kept[0]] != [pair[:2] for pair in pairs]:
        return None
    return kept[1]
