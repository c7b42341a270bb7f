"""`score --explain`: where a system loses and why, as text."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from dragoman.cli.format import HEADINGS
from dragoman.cli.terminal import talk
from dragoman.errors import DataError

if TYPE_CHECKING:
    from dragoman.analysis.error_analysis import AnalysedSentence, ErrorAnalysis
    from dragoman.analysis.reasons import Reason
    from dragoman.analysis.training_words import TrainingWords
    from dragoman.data.pair import Pair
    from dragoman.metrics.sentence_buckets import SentenceBucket
    from dragoman.metrics.word_buckets import WordBucket

SHOWN_WORDS = 5  # of a reason
LABEL = 24  # characters of the first column


def analysed(
    args: argparse.Namespace, sources: Sequence[str], outputs: Sequence[str], references: Sequence[list[str]]
) -> ErrorAnalysis:
    from dragoman.analysis.error_analysis import analyse_errors

    training = training_words(args, sources, [*outputs, *chain.from_iterable(references)])
    return analyse_errors(sources, outputs, *references, training=training)


def training_words(
    args: argparse.Namespace, sources: Iterable[str], targets: Iterable[str]
) -> TrainingWords | None:
    """Read the training data of --training, or else of the model; None if it is not there."""
    from dragoman.analysis.training_words import read_training

    try:
        found = read_training(training_pairs(args), sources, targets)
    except DataError as error:
        if args.training:
            raise
        talk(f"The training data cannot be read, so it is not compared: {error.where}")
        return None
    if not found.sample:
        talk("Frequencies, omissions and hallucinations need the training data: add --training FILE [FILE].")
        return None
    return found


def training_pairs(args: argparse.Namespace) -> Iterator[Pair]:
    from dragoman.analysis.training_words import ignore
    from dragoman.analysis.training_words import training_pairs as read_pairs
    from dragoman.data.readers.open_pairs import open_pairs
    from dragoman.inference.find_model import find_model
    from dragoman.tasks.load import settings_of

    if args.training:
        yield from open_pairs(args.training, on_bad=ignore, languages=args.languages)
    elif not args.hyp:
        folder = find_model(args.what[0])
        yield from read_pairs(folder.parent, settings_of(folder).data)


def error_lines(found: ErrorAnalysis, worst: int) -> Iterator[str]:
    yield ""
    yield f"Analysed by the chrF of each sentence, {found.mean:.2f} on average"
    for name, buckets in found.sentence_buckets.items():
        yield from sentence_table(name, buckets)
    for title, words in found.word_buckets.items():
        yield from word_table(f"words by {title}", words)
    yield from suspect_lines(found)
    yield from reason_table(found)
    yield from baseline_table(found.baselines)
    for sentence in found.sentences[:worst]:
        yield from sentence_lines(sentence)


def sentence_table(name: str, buckets: Sequence[SentenceBucket]) -> Iterator[str]:
    yield ""
    yield name
    yield f"{'':<{LABEL}}{'sentences':>9}{'chrF':>8}   95 % interval     of the loss"
    for one in buckets:
        interval = f"{one.interval[0]:.2f} to {one.interval[1]:.2f}"
        verdict = "   below the mean" if one.loses else ""
        yield (
            f"  {one.label:<{LABEL - 2}}{one.sentences:>9,}{one.mean:>8.2f}   {interval:<16}"
            f"{one.lost:>11.1f} %{verdict}"
        )


def word_table(name: str, buckets: Sequence[WordBucket]) -> Iterator[str]:
    yield ""
    yield name
    yield f"{'':<{LABEL}}{'wanted':>9}{'precision':>11}{'recall':>9}{'F1':>9}"
    for one in buckets:
        figures = f"{one.precision:>11.2f}{one.recall:>9.2f}{one.f1:>9.2f}"
        yield f"  {one.label:<{LABEL - 2}}{one.wanted:>9,}{figures}"


def suspect_lines(found: ErrorAnalysis) -> Iterator[str]:
    if found.omissions is None or found.hallucinations is None:
        return
    yield ""
    yield f"{'without a counterpart':<{LABEL}}{'outputs':>9}{'references':>12}{'suspects':>10}"
    rows = {"words of the source": found.omissions, "words of the target": found.hallucinations}
    for label, one in rows.items():
        suspects = sum(map(bool, one.words))
        yield f"  {label:<{LABEL - 2}}{one.outputs:>7.1f} %{one.references:>10.1f} %{suspects:>10,}"


def reason_table(found: ErrorAnalysis) -> Iterator[str]:
    from dragoman.analysis.reasons import REASONS

    if not found.reasons:
        return
    yield ""
    yield f"{'reason':<{LABEL}}{'sentences':>9}{'chrF':>8}{'of the loss':>14}"
    for one in found.reasons:
        figures = f"{one.sentences:>9,}{one.mean:>8.2f}{one.lost:>12.1f} %"
        yield f"  {shown(one.tag):<{LABEL - 2}}{figures}   {REASONS[one.tag]}"


def baseline_table(baselines: dict[str, dict[str, float]]) -> Iterator[str]:
    names = list(next(iter(baselines.values())))
    yield ""
    yield f"{'without a model':<{LABEL}}" + "".join(f"{HEADINGS[name]:>9}" for name in names)
    for label, values in baselines.items():
        yield f"  {label:<{LABEL - 2}}" + "".join(f"{values[name]:>9.2f}" for name in names)


def sentence_lines(one: AnalysedSentence) -> Iterator[str]:
    yield ""
    yield f"line {one.line:<6,}chrF {one.chrf:.0f}: {'; '.join(map(reason_text, one.reasons)) or 'equal'}"
    yield f"  source     {one.source}"
    yield f"  reference  {one.reference}"
    yield f"  output     {one.output}"


def reason_text(reason: Reason) -> str:
    words = [*reason.words[:SHOWN_WORDS], *(["…"] if len(reason.words) > SHOWN_WORDS else [])]
    return shown(reason.tag) + (f" ({', '.join(words)})" if words else "")


def shown(tag: str) -> str:
    return tag.replace("_", " ")
