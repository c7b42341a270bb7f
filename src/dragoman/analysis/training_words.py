"""What the training data knows of a test set: how often its words occur, and a sample of pairs.

The data is read once. Memory does not depend on its size: only words of the test set are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.data import DataConfig
from dragoman.data.examples import Reader, read_pairs
from dragoman.data.holdout import read_held_out
from dragoman.data.pair import Pair
from dragoman.text.running_words import running_words

SAMPLE = 100_000  # pairs at most
LONG = 0.99  # of the training sources are not longer than this


@dataclass(frozen=True)
class TrainingWords:
    """Counts of the test set's words on each side; the length that few sources exceed; a sample of pairs."""

    src: Counter[str]
    tgt: Counter[str]
    long: int
    sample: list[Pair]


class EvenSample:
    """Pairs spread evenly over a stream of unknown length: every k-th, where k doubles when they get many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.pairs: list[Pair] = []
        self._step = 1
        self._seen = 0

    def add(self, pair: Pair) -> None:
        if self._seen % self._step == 0:
            if len(self.pairs) == self.most:
                self.pairs = self.pairs[::2]
                self._step *= 2
            if self._seen % self._step == 0:
                self.pairs.append(pair)
        self._seen += 1


def training_pairs(run: Path, data: DataConfig, read: Reader = read_pairs) -> Iterator[Pair]:
    """Yield what a run was trained on: the pairs of its files, without those that it has held out."""
    folder = run / "store" / "held-out"
    held_out = read_held_out(folder) if not data.valid and folder.is_dir() else None
    for corpus in data.train:
        for pair in read(corpus.files, ignore, corpus.languages):
            if not (held_out and held_out.skips(pair)):
                yield pair


def ignore(bad: object) -> None:
    """Skip a line that training skips too."""


def read_training(
    pairs: Iterable[Pair], sources: Iterable[str], targets: Iterable[str], most: int = SAMPLE
) -> TrainingWords:
    """Count the words of `sources` and `targets`, which are those of a test set, in training pairs."""
    wanted = [{word for text in texts for word in running_words(text)} for texts in (sources, targets)]
    counts = Counter[str](), Counter[str]()
    lengths = Counter[int]()
    sample = EvenSample(most)
    for pair in pairs:
        sides = running_words(pair.src), running_words(pair.tgt)
        lengths[len(sides[0])] += 1
        for count, words, of_test in zip(counts, sides, wanted, strict=True):
            count.update(word for word in words if word in of_test)
        sample.add(pair)
    return TrainingWords(*counts, quantile(lengths, LONG), sample.pairs)


def quantile(lengths: Counter[int], share: float) -> int:
    """Return the least length that `share` of all do not exceed."""
    passed = 0
    for length in sorted(lengths):
        passed += lengths[length]
        if passed >= share * lengths.total():
            return length
    return 0


def unseen(words: Sequence[str], counts: Counter[str]) -> list[str]:
    """Return the words that do not occur in training, once each."""
    return [word for word in dict.fromkeys(words) if not counts[word]]
