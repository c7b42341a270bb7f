"""What `score` says beside the metrics of taggers and classifiers.

These are baselines, labels that the model does not know, calibration and confusions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dragoman.analysis.training_words import training_pairs
from dragoman.config.root import TaskName
from dragoman.data.pair import Pair
from dragoman.data.readers.tagged import LABEL
from dragoman.errors import DataError
from dragoman.metrics.calibration import calibration_error
from dragoman.metrics.confusion import macro_f1
from dragoman.models.folder import TEXT, open_folder
from dragoman.models.hmm import HMM, MostFrequentTag, first
from dragoman.tasks.examples import LABELS_OF
from dragoman.text.build import load as load_text
from dragoman.text.running_words import words_of

if TYPE_CHECKING:
    from dragoman.tasks.load import TaskModel
    from dragoman.tasks.task import Answer

CONFUSED = 5  # pairs of labels that are shown

Outputs = dict[str, list[str]]  # of each baseline, by its name


@runtime_checkable
class Judged(Protocol):
    """An answer whose parts have probabilities."""

    def judged(self, reference: str) -> list[tuple[float, bool]]:
        """Return the probability of each part, and whether it is right."""


def remarks(model: TaskModel, pairs: Sequence[Pair], answers: Sequence[Answer]) -> dict[str, Any]:
    """Return them by name; none for other tasks. Baselines are learned from the training files, if any."""
    config, task = model.config, model.task
    if config.task not in BASELINES:
        return {}
    sources, wanted = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    found = BASELINES[config.task](training(model), sources, wanted)
    said: dict[str, Any] = {
        "baselines": {name: dict(task.measure(outputs, wanted)) for name, outputs in found.items()}
    }
    if unknown := unknown_labels(model, wanted):
        said["unknown_labels"] = unknown
    facts = [
        fact
        for answer, reference in zip(answers, wanted, strict=True)
        if isinstance(answer, Judged)
        for fact in answer.judged(reference)
    ]
    if facts:
        said["calibration_error"] = 100 * calibration_error([p for p, _ in facts], [hit for _, hit in facts])
    if config.task == "classify":
        confusion = macro_f1([answer.text for answer in answers], wanted)
        said["most_confused"] = [list(one) for one in confusion.most_confused()[:CONFUSED]]
    return said


def unknown_labels(model: TaskModel, references: Sequence[str]) -> dict[str, int]:
    """Return the labels that the model cannot answer with, and how many there are of each."""
    tokenizer = load_text(model.folder / TEXT, open_folder(model.folder).read).tgt
    known = {tokenizer.piece(id) for id in range(tokenizer.size)}
    counts = Counter(label for line in references for label in LABELS_OF[model.config.task](line))
    return {label: count for label, count in counts.most_common() if label not in known}


def training(model: TaskModel) -> list[Pair]:
    """Return the training examples, or none if the files are not there any more."""
    try:
        return list(training_pairs(model.folder.parent, model.config.data, model.examples.read))
    except DataError:
        return []


def majority(train: Sequence[Pair], sources: Sequence[str], references: Sequence[str]) -> Outputs:
    if not train:
        return {}
    most = first(Counter(pair.tgt for pair in train))
    return {"most frequent label": [most] * len(sources)}


def counted_tags(train: Sequence[Pair], sources: Sequence[str], references: Sequence[str]) -> Outputs:
    """Return the outputs of two baselines; before the tags of a line, the most frequent label."""
    if not train:
        return {}
    is_joint = all(reference.startswith(LABEL) for reference in references)
    sentences = [(words_of(pair.src), words_of(pair.tgt)) for pair in train]
    label = [first(Counter(tags[0] for _, tags in sentences))] if is_joint else []
    tagged = [(words, tags[len(tags) - len(words) :]) for words, tags in sentences]
    taggers: dict[str, Callable[[Sequence[str]], list[str]]] = {
        "most frequent tag": MostFrequentTag(tagged),
        "HMM": HMM(tagged),
    }
    return {
        name: [" ".join([*label, *tag(words_of(source))]) for source in sources]
        for name, tag in taggers.items()
    }


BASELINES: dict[TaskName, Callable[[Sequence[Pair], Sequence[str], Sequence[str]], Outputs]] = {
    "tag": counted_tags,
    "classify": majority,
}
