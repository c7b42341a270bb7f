"""Which words a system gets right: precision, recall and F₁ of words with one label (Neubig et al. 2019)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

WordLabel = Callable[[int, str], str]  # of a word in the sentence with this index


@dataclass(frozen=True)
class WordBucket:
    """Words of references, of outputs, and of both: of a sentence a word counts as often as both have it."""

    label: str
    wanted: int
    written: int
    matched: int

    @property
    def recall(self) -> float:
        return 100 * self.matched / max(self.wanted, 1)

    @property
    def precision(self) -> float:
        return 100 * self.matched / max(self.written, 1)

    @property
    def f1(self) -> float:
        return 200 * self.matched / max(self.wanted + self.written, 1)


def word_buckets(
    outputs: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    label_of: WordLabel,
    order: Sequence[str],
) -> list[WordBucket]:
    """Return the buckets that have words, by the order of their labels."""
    wanted, written, matched = Counter[str](), Counter[str](), Counter[str]()
    for number, (output, reference) in enumerate(zip(outputs, references, strict=True)):
        ours, theirs = Counter(output), Counter(reference)
        for total, counts in ((written, ours), (wanted, theirs), (matched, ours & theirs)):
            for word, count in counts.items():
                total[label_of(number, word)] += count
    return [
        WordBucket(label, wanted[label], written[label], matched[label])
        for label in order
        if wanted[label] or written[label]
    ]


FREQUENCIES = (0, 1, 10, 100, 1000)  # the least of each bucket


def frequency_label(count: int) -> str:
    """Return the bucket of a word that occurs `count` times in training."""
    return FREQUENCY_LABELS[sum(count >= least for least in FREQUENCIES) - 1]


FREQUENCY_LABELS = (
    "never",
    *(f"{low:,}–{high - 1:,}" for low, high in pairwise(FREQUENCIES[1:])),
    f"{FREQUENCIES[-1]:,} or more",
)
