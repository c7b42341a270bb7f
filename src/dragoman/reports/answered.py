"""A test set and the answers of a model to it: scores, baselines and the score of each sentence, by task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from rapidfuzz.distance import Levenshtein

from dragoman.analysis.error_analysis import ErrorAnalysis, analyse_errors
from dragoman.analysis.training_words import TrainingWords, read_training, training_pairs
from dragoman.config.root import Config
from dragoman.errors import DataError
from dragoman.inference.model import Model
from dragoman.metrics.names import ALL_TITLES, ERRORS, OTHER_TITLES, PERCENT
from dragoman.metrics.report import ScoreReport, as_compared, score
from dragoman.metrics.sentence_distance import Distance, chrf_distance
from dragoman.metrics.significance import difference_interval
from dragoman.reports.report import Editing, Example, Gain, Score
from dragoman.reports.verdict import MATCH
from dragoman.tasks.load import TaskModel, settings_of
from dragoman.tasks.remarks import BASELINES, training
from dragoman.text.running_words import running_words, words_of

Outputs = Mapping[str, Sequence[str]]  # of each baseline, by its name
Values = Mapping[str, Mapping[str, float]]  # of each baseline and metric

BLEU_WORDS = 4
UNSPACED = 10  # words without a space between them: a sentence of a script without spaces
LOWER_IS_BETTER = {*ERRORS, *OTHER_TITLES} - {"intent"}

# The names under which two metrics of tagging are computed from the outputs.
COMPUTED_AS = {("tag", "accuracy"): "tag_accuracy"}
# What a metric is a percentage of.
COUNTED = {
    "exact_match": "examples",
    "accuracy": "examples",
    "tag_accuracy": "tags",
    "wer": "words",
    "cer": "characters",
}


@dataclass(frozen=True)
class Answered:
    model: Model | TaskModel
    sources: list[str]
    references: list[str]
    outputs: list[str]

    @cached_property
    def config(self) -> Config:
        return config_of(self.model)

    @property
    def is_labelled(self) -> bool:
        return self.config.task in BASELINES

    @property
    def sentence_score(self) -> str:
        return "labels right, %" if self.is_labelled else "chrF"

    @cached_property
    def scores(self) -> ScoreReport:
        lowercase = self.config.text.lowercase
        if isinstance(self.model, TaskModel):
            return self.model.task.score(self.outputs, self.references, lowercase=lowercase)
        return score(self.outputs, self.references, lowercase=lowercase, sources=self.sources)

    def errors(self, with_training: bool, lexicon_pairs: int) -> ErrorAnalysis | None:
        """Analyse the errors of a model from text to text; without its training data, in part."""
        if not self.config.is_text_to_text:
            return None
        sides = self.sources, self.outputs, self.references
        given, written, wanted = (as_compared(side, lowercase=self.config.text.lowercase) for side in sides)
        words = training_words(self.model, given, [*written, *wanted]) if with_training else None
        return analyse_errors(given, written, wanted, training=words, lexicon_pairs=lexicon_pairs)

    def baselines(self, errors: ErrorAnalysis | None, with_training: bool) -> tuple[Outputs, Values]:
        """Return the outputs of baselines and their scores: of the analysis, or of counts of labels."""
        if errors:
            return errors.baseline_outputs, errors.baselines
        if not (self.is_labelled and with_training and isinstance(self.model, TaskModel)):
            return {}, {}
        task = self.model.task
        outputs = BASELINES[self.config.task](training(self.model), self.sources, self.references)
        values = {name: dict(task.measure(found, self.references)) for name, found in outputs.items()}
        return outputs, cast(Values, values)

    def gains(self, outputs: Outputs, values: Values) -> Iterator[Gain]:
        """Yield how much better the model is than each baseline, by the metric of the verdict."""
        metric = self.main_metric
        computed = COMPUTED_AS.get((self.config.task, metric), metric)
        mine, wanted = map(self.tags_only, (self.outputs, self.references))
        for name, found in outputs.items():
            interval = difference_interval(
                computed, mine, self.tags_only(found), wanted, lowercase=self.config.text.lowercase
            )
            difference = self.scores.scores[metric].value - values[name][metric]
            yield Gain(metric, ALL_TITLES[metric], name, difference, interval)

    def tags_only(self, lines: Sequence[str]) -> Sequence[str]:
        """Return lines of tags without the label of the whole line, which is a metric of its own."""
        is_joint = "intent" in self.scores.scores
        return [line.partition(" ")[2] for line in lines] if is_joint else lines

    @property
    def main_metric(self) -> str:
        """The metric of the verdict. BLEU counts four words in a row, so it says little of fewer."""
        if self.is_labelled:
            return "span_f1" if "span_f1" in self.scores.scores else "accuracy"
        first = next(iter(self.scores.scores))
        if first != "bleu":  # CER of transcriptions
            return first
        words = usual_words(self.references)
        preferred = "exact_match" if words <= 1 else "chrf" if words < BLEU_WORDS else "bleu"
        return preferred if preferred in self.scores.scores else first

    def editing(self) -> Editing | None:
        """Estimate what a translator would do with the outputs; of sentences only."""
        if not self.config.is_text_to_text or self.main_metric == "exact_match":
            return None
        sides = self.outputs, self.references
        compared = (as_compared(side, lowercase=self.config.text.lowercase) for side in sides)
        matches = [100 * Levenshtein.normalized_similarity(*pair) for pair in zip(*compared, strict=True)]
        leave, usable = sum(match == 100 for match in matches), sum(match >= MATCH for match in matches)
        return Editing(leave, usable - leave, len(matches) - usable)

    def sentence_measure(self) -> Distance:
        """Return the score of an output and its reference, from 0 to 100."""
        return labels_right if self.is_labelled else chrf_of()

    def examples(self, errors: ErrorAnalysis | None) -> list[Example]:
        """Return all sentences, the worst first."""
        if errors:
            lines = ((one.line, one.chrf, one.reasons) for one in errors.sentences)
        else:
            measure = self.sentence_measure()
            scored = zip(self.outputs, self.references, strict=True)
            lines = ((n, measure(*sides), ()) for n, sides in enumerate(scored, start=1))
        found = [
            Example(n, value, self.sources[n - 1], self.references[n - 1], self.outputs[n - 1], why)
            for n, value, why in lines
        ]
        return sorted(found, key=lambda one: one.score)


def config_of(model: Model | TaskModel) -> Config:
    return model.config if isinstance(model, TaskModel) else settings_of(model.folder)


def training_words(
    model: Model | TaskModel, sources: Sequence[str], targets: Sequence[str]
) -> TrainingWords | None:
    """Return what the training data knows of a test set; None if its files are gone."""
    pairs = training_pairs(model.folder.parent, config_of(model).data)
    try:
        found = read_training(pairs, sources, targets)
    except DataError:
        return None
    return found if found.sample else None


def usual_words(texts: Sequence[str]) -> float:
    """Return the median number of words of the texts, in scripts without spaces of long texts only."""
    spaced = float(np.median([len(text.split()) for text in texts]))
    if spaced > 1:
        return spaced
    characters = float(np.median([len(running_words(text)) for text in texts]))
    return characters if characters > UNSPACED else 1.0


def as_scores(found: ScoreReport, baselines: Values, task: str) -> Iterator[Score]:
    for metric, one in found.scores.items():
        yield Score(
            metric,
            ALL_TITLES[metric],
            one.value,
            one.interval,
            "%" if metric in PERCENT else "",
            metric in LOWER_IS_BETTER,
            one.signature,
            {name: values[metric] for name, values in baselines.items() if metric in values},
            COUNTED.get(COMPUTED_AS.get((task, metric), metric), ""),
        )


def labels_right(output: str, reference: str) -> float:
    """Return the share of words that are the same in the same place, in percent."""
    ours, theirs = words_of(output), words_of(reference)
    right = sum(a == b for a, b in zip(ours, theirs, strict=False))
    return 100 * right / max(len(ours), len(theirs), 1)


def chrf_of() -> Distance:
    distance = chrf_distance()
    return lambda output, reference: 100 * (1 - distance(output, reference))
