"""The errors of a system: what it loses, where, and for which reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.analysis.baselines import baseline_outputs
from dragoman.analysis.counterparts import Suspects, hallucinations, omissions
from dragoman.analysis.lexicon import Lexicon
from dragoman.analysis.reasons import REASONS, Reason, Sentence, reasons
from dragoman.analysis.training_words import TrainingWords
from dragoman.metrics.report import values
from dragoman.metrics.sentence_buckets import SentenceBucket, length_labels, sentence_buckets
from dragoman.metrics.sentence_distance import chrf_distance
from dragoman.metrics.word_buckets import FREQUENCY_LABELS, WordBucket, frequency_label, word_buckets
from dragoman.text.running_words import running_words

LEXICON_PAIRS = 30_000

COPIED, NUMBER, OTHER = "copied from the source", "with digits", "other words"

Words = list[list[str]]


@dataclass(frozen=True)
class AnalysedSentence:
    """`chrf` is that of the output against its nearest reference; lines count from 1."""

    line: int
    chrf: float
    source: str
    reference: str
    output: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class ReasonCount:
    """The sentences that have a reason: how many, their mean chrF, and their share of all lost points."""

    tag: str
    sentences: int
    mean: float
    lost: float


@dataclass(frozen=True)
class ErrorAnalysis:
    """`sentences` are all, the worst first; without training data there are no suspects."""

    mean: float
    sentence_buckets: dict[str, list[SentenceBucket]]
    word_buckets: dict[str, list[WordBucket]]
    reasons: list[ReasonCount]
    sentences: list[AnalysedSentence]
    baseline_outputs: dict[str, list[str]]
    baselines: dict[str, dict[str, float]]  # their scores
    omissions: Suspects | None
    hallucinations: Suspects | None

    def asdict(self, worst: int | None = None) -> dict[str, Any]:
        """Return plain values; of the sentences only the `worst`."""
        words = {
            name: [
                {**asdict(one), "precision": one.precision, "recall": one.recall, "f1": one.f1}
                for one in buckets
            ]
            for name, buckets in self.word_buckets.items()
        }
        facts = asdict(self) | {"word_buckets": words}
        del facts["baseline_outputs"]
        for name in ("omissions", "hallucinations"):
            if facts[name]:
                facts[name]["suspects"] = sum(map(bool, facts[name].pop("words")))
        facts["sentences"] = facts["sentences"][:worst]
        return facts


def analyse_errors(
    sources: Sequence[str],
    outputs: Sequence[str],
    *references: Sequence[str],
    training: TrainingWords | None = None,
    lexicon_pairs: int = LEXICON_PAIRS,
) -> ErrorAnalysis:
    """Analyse the outputs by the nearest of their references, in chrF; without training data, in part.

    Suspects of omission and hallucination are found by at most `lexicon_pairs` of the training pairs.
    """
    wanted, scores = nearest_references(outputs, references)
    words = [[running_words(text) for text in side] for side in (sources, outputs, wanted)]
    suspected = suspects(words, training, lexicon_pairs) if training else (None, None)
    missing = ([()] * len(sources) if one is None else one.words for one in suspected)
    sentences = [Sentence(*one) for one in zip(sources, outputs, wanted, *missing, strict=True)]
    why = [reasons(one, training) for one in sentences]
    analysed = [
        AnalysedSentence(line, score, one.source, one.reference, one.output, found)
        for line, (score, one, found) in enumerate(zip(scores.tolist(), sentences, why, strict=True), start=1)
    ]
    without_model = baseline_outputs(sources, training.sample if training else ())
    return ErrorAnalysis(
        float(scores.mean()),
        by_sentence(sources, words, scores, training),
        by_word(words, training),
        reason_counts(scores, why),
        sorted(analysed, key=lambda one: one.chrf),
        without_model,
        {name: values(found, references[0]) for name, found in without_model.items()},
        *suspected,
    )


def nearest_references(
    outputs: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[list[str], NDArray[np.float64]]:
    """Return for each output the reference with the highest chrF, and that chrF."""
    distance = chrf_distance()
    found = [
        min((distance(output, reference), reference) for reference in choices)
        for output, *choices in zip(outputs, *references, strict=True)
    ]
    return [reference for _, reference in found], 100 * (1 - np.array([d for d, _ in found]))


def suspects(words: Sequence[Words], training: TrainingWords, most: int) -> tuple[Suspects, Suspects]:
    """Return omissions and hallucinations, by lexicons of a part of the training data."""
    step = max(1, -(-len(training.sample) // most))
    pairs = [(running_words(pair.src), running_words(pair.tgt)) for pair in training.sample[::step]]
    forward, reverse = Lexicon(pairs), Lexicon([(tgt, src) for src, tgt in pairs])
    sources, outputs, wanted = words
    return omissions(sources, outputs, wanted, forward), hallucinations(sources, outputs, wanted, reverse)


def by_sentence(
    sources: Sequence[str],
    words: Sequence[Words],
    scores: NDArray[np.float64],
    training: TrainingWords | None,
) -> dict[str, list[SentenceBucket]]:
    given, _, wanted = words
    aspects = {"length of the source": length_labels(sources)}
    if training:
        rarest = [min((training.src[word] for word in of), default=0) for of in given]
        labels = list(map(frequency_label, rarest))
        aspects["rarest word of the source, occurrences in training"] = labels, list(FREQUENCY_LABELS)
    presence = ["none", "some"]
    copies = [presence[any(map(is_copied_from(a), b))] for a, b in zip(given, wanted, strict=True)]
    aspects["words of the reference that are copied from the source"] = copies, presence
    digits = [presence[any(map(has_digit, source))] for source in given]
    aspects["numbers in the source"] = digits, presence
    found = {name: sentence_buckets(scores, *labels) for name, labels in aspects.items()}
    return {name: buckets for name, buckets in found.items() if buckets}


def by_word(words: Sequence[Words], training: TrainingWords | None) -> dict[str, list[WordBucket]]:
    sources, outputs, wanted = words
    copied = list(map(is_copied_from, sources))

    def kind(number: int, word: str) -> str:
        return NUMBER if has_digit(word) else COPIED if copied[number](word) else OTHER

    found = {"kind": word_buckets(outputs, wanted, kind, (COPIED, NUMBER, OTHER))}
    if training:
        counts = training.tgt
        found["occurrences in training"] = word_buckets(
            outputs, wanted, lambda _, word: frequency_label(counts[word]), FREQUENCY_LABELS
        )
    return found


def has_digit(word: str) -> bool:
    return any(map(str.isdecimal, word))


def is_copied_from(source: Sequence[str]) -> Callable[[str], bool]:
    """Return whether a word is in the source; single letters and numbers do not count as copies."""
    given = {word for word in source if len(word) > 1 and not has_digit(word)}
    return given.__contains__


def reason_counts(scores: NDArray[np.float64], why: Sequence[Sequence[Reason]]) -> list[ReasonCount]:
    """Count the sentences of each reason. A sentence may have several, so shares do not add up to 100."""
    all_lost = max(float((100 - scores).sum()), 1e-9)
    counts = []
    for tag in REASONS:
        own = scores[[any(reason.tag == tag for reason in found) for found in why]]
        if len(own):
            lost = 100 * float((100 - own).sum()) / all_lost
            counts.append(ReasonCount(tag, len(own), float(own.mean()), lost))
    return sorted(counts, key=lambda one: -one.lost)
