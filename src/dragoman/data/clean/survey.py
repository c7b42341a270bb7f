"""What `check` finds by comparing the two sides of examples, which depends on what the sides are.

The training examples are added in blocks, in a first pass; then `settle` writes the findings to the report,
and a second pass asks about single examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from dragoman.data.clean.drift import DriftDetector
from dragoman.data.clean.length_ratio import LengthRatio
from dragoman.data.clean.normalise import hash64
from dragoman.data.clean.report import CheckReport, LabelReport
from dragoman.data.clean.rules import is_copy
from dragoman.data.clean.seen_hashes import SeenHashes
from dragoman.data.clean.sides import Directions, Lengths, Words
from dragoman.data.examples import Sides
from dragoman.data.pair import Pair
from dragoman.text.running_words import one_label, words_of


class Survey(Protocol):
    """The findings of one corpus."""

    @property
    def ratio(self) -> LengthRatio | None:
        """The ratio of the lengths of its sides; None if they are not compared."""

    def add(self, block: Sequence[Pair]) -> None:
        """Add training examples."""

    def through(self, name: str, held: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the examples of a held-out set, which is read before the training examples."""

    def settle(self, report: CheckReport) -> None:
        """Write the findings to the report, after all examples were added."""

    def is_copy(self, pair: Pair) -> bool:
        """Return whether both sides are the same although they should not be."""

    def is_swapped(self, pair: Pair) -> bool:
        """Return whether source and target are swapped, unlike in most pairs."""


class SignalSurvey:
    """Sources that are files: a path says nothing about the text beside it, so nothing is compared."""

    ratio: LengthRatio | None = None

    def add(self, block: Sequence[Pair]) -> None:
        pass

    def through(self, name: str, held: Iterable[Pair]) -> Iterator[Pair]:
        yield from held

    def settle(self, report: CheckReport) -> None:
        pass

    def is_copy(self, pair: Pair) -> bool:
        return False

    def is_swapped(self, pair: Pair) -> bool:
        return False


class TextSurvey(SignalSurvey):
    """Texts without a source: their characters are counted."""

    def __init__(self) -> None:
        self.characters = 0

    def add(self, block: Sequence[Pair]) -> None:
        self.characters += sum(len(pair.tgt) for pair in block)

    def settle(self, report: CheckReport) -> None:
        report.characters = self.characters


class LabelSurvey(SignalSurvey):
    """Targets that are labels: how often each occurs, where it is missing, and texts with several."""

    def __init__(self, labels_of: Callable[[str], Sequence[str]], *, are_closed: bool) -> None:
        """Initialise with a function from a target to its labels.

        If they are closed, training refuses a validation label that it does not have.
        """
        self.labels_of = labels_of
        self.found = LabelReport(are_closed)
        self.counts = Counter[str]()
        self.held: dict[str, Counter[str]] = {}
        self.sources, self.pairs = SeenHashes(), SeenHashes()

    def add(self, block: Sequence[Pair]) -> None:
        for pair in block:
            self.counts.update(self.labels_of(pair.tgt))
        seen_source = self.sources.add(hashes(pair.src for pair in block))
        seen_pair = self.pairs.add(hashes(f"{len(pair.src)} {pair.src}{pair.tgt}" for pair in block))
        for index in np.flatnonzero(seen_source & ~seen_pair).tolist():
            self.found.conflicts.add(block[index])

    def through(self, name: str, held: Iterable[Pair]) -> Iterator[Pair]:
        counts = self.held.setdefault(name, Counter())
        for pair in held:
            counts.update(self.labels_of(pair.tgt))
            yield pair

    def settle(self, report: CheckReport) -> None:
        self.found.counts = dict(self.counts.most_common())
        for name, counts in self.held.items():
            self.found.unseen[name] = {
                label: n for label, n in counts.most_common() if label not in self.counts
            }
        report.labels = self.found


class TranslationSurvey:
    """Sides that say the same in two ways: their lengths go together, and their words tell them apart."""

    def __init__(self) -> None:
        self.ratio = LengthRatio()
        self.drift, self.lengths, self.words = DriftDetector(), Lengths(), Words()
        self.directions = Directions()
        self.held: dict[str, Words] = {}

    def add(self, block: Sequence[Pair]) -> None:
        for pair in block:
            self.ratio.add(pair)
            self.lengths.add(pair)
        texts = [pair for pair in block if pair.src or pair.tgt]
        if not texts:  # nothing can be misaligned there
            return
        if not self.words.are_enough:
            for pair in texts:
                self.words.add(pair)
                self.directions.add(pair)
        self.drift.add(block)

    def through(self, name: str, held: Iterable[Pair]) -> Iterator[Pair]:
        words = self.held.setdefault(name, Words())
        for pair in held:
            words.add(pair)
            yield pair

    def settle(self, report: CheckReport) -> None:
        self.ratio.settle()
        self.directions.settle()
        report.length_ratio = self.ratio.usual
        report.length_correlation = self.lengths.correlation
        report.drift = None if report.is_shuffled else self.drift.find()
        report.turned += [
            name
            for name, words in self.held.items()
            if name not in report.turned and words.is_turned(self.words)
        ]

    def is_copy(self, pair: Pair) -> bool:
        return is_copy(pair)

    def is_swapped(self, pair: Pair) -> bool:
        return self.directions.is_swapped(pair)


def hashes(texts: Iterable[str]) -> np.typing.NDArray[np.uint64]:
    return np.array([hash64(text) for text in texts], dtype=np.uint64)


SURVEYS: dict[Sides, Callable[[], Survey]] = {
    "translations": TranslationSurvey,
    "signals": SignalSurvey,
    "texts": TextSurvey,
    "tags": partial(LabelSurvey, words_of, are_closed=False),
    "labels": partial(LabelSurvey, one_label, are_closed=True),
}
