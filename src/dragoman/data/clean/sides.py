"""Whether source and target match and are not swapped, by their lengths and words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dragoman.data.pair import Pair

ENOUGH = 200  # pairs needed for an estimate
UNRELATED = 0.15  # length correlation below which sides are unrelated; translations have 0.8 and more
VARIED = 0.2  # minimum standard deviation of log lengths; equal lengths carry no information
COUNTED_PAIRS = 20_000  # pairs whose words are counted
FREQUENT = 300  # most frequent words of a side, which identify it
MARGIN = 0.25  # by which the share of words of the other side must exceed that of its own


class Lengths:
    """The correlation of the log lengths of source and target over all pairs."""

    def __init__(self) -> None:
        self._count = 0
        self._sums = [0.0] * 5  # x, y, x², y², xy

    def add(self, pair: Pair) -> None:
        x, y = math.log(len(pair.src) + 1), math.log(len(pair.tgt) + 1)
        self._count += 1
        sums = self._sums  # written out, as this runs for every pair
        sums[0] += x
        sums[1] += y
        sums[2] += x * x
        sums[3] += y * y
        sums[4] += x * y

    @property
    def correlation(self) -> float | None:
        """The correlation, or None if lengths are not informative."""
        if self._count < ENOUGH:
            return None
        x, y, xx, yy, xy = (value / self._count for value in self._sums)
        spread = [math.sqrt(max(0.0, square - mean * mean)) for mean, square in ((x, xx), (y, yy))]
        if min(spread) < VARIED:
            return None
        return (xy - x * y) / (spread[0] * spread[1])


class Words:
    """The frequent words of each side."""

    def __init__(self) -> None:
        self._counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self.pairs = 0

    @property
    def are_enough(self) -> bool:
        return self.pairs >= COUNTED_PAIRS

    def add(self, pair: Pair) -> None:
        if not self.are_enough:
            self.pairs += 1
            for counts, text in zip(self._counts, (pair.src, pair.tgt), strict=True):
                counts.update(words_of(text))

    def evidence(self, word: str) -> float:
        """Return how much a word speaks for the source side: the log ratio of its counts."""
        source, target = (counts[word] + 1 for counts in self._counts)
        return math.log(source / target)

    def frequent(self, side: int) -> set[str]:
        return {word for word, _ in self._counts[side].most_common(FREQUENT)}

    def distinctive(self) -> list[set[str]]:
        """Return for each side its frequent words that are not frequent on the other."""
        source, target = (self.frequent(side) for side in (0, 1))
        return [source - target, target - source]

    def share(self, side: int, words: set[str]) -> float:
        """Return the share of `words` in the running words of a side."""
        counts = self._counts[side]
        return sum(count for word, count in counts.items() if word in words) / max(1, counts.total())

    def is_turned(self, train: Words) -> bool:
        """Return whether the sources resemble the training targets, and the targets the training sources."""
        own = train.distinctive()
        return self.pairs > 0 and self.resembles(own[::-1], rather_than=own)

    def resembles(self, words: Sequence[set[str]], *, rather_than: Sequence[set[str]]) -> bool:
        """Return whether each side clearly has more of its first words than of its second ones."""
        return all(
            self.share(side, words[side]) > self.share(side, rather_than[side]) + MARGIN for side in (0, 1)
        )


class Directions:
    """Finds the pairs whose source and target are swapped, in a corpus that mixes both directions.

    Each pair is turned so that its words are on the sides where they occurred before. If the sides then
    differ in their frequent words, they are two languages, and those words show the direction of a pair.
    """

    def __init__(self) -> None:
        self._turned = Words()  # of pairs turned to one direction
        self._as_they_are = 0  # the pairs that were in that direction, less the others
        self._languages: list[set[str]] = []

    def add(self, pair: Pair) -> None:
        if self._turned.are_enough:
            return
        for_source, for_target = (
            sum(map(self._turned.evidence, words_of(text))) for text in (pair.src, pair.tgt)
        )
        is_swapped = for_source < for_target
        self._turned.add(swapped(pair) if is_swapped else pair)
        self._as_they_are += -1 if is_swapped else 1

    def settle(self) -> None:
        """Learn the words of each language, after pairs were added."""
        words = self._turned.distinctive()
        if self._turned.pairs >= ENOUGH and self._turned.resembles(words, rather_than=words[::-1]):
            self._languages = words if self._as_they_are >= 0 else words[::-1]

    def is_swapped(self, pair: Pair) -> bool:
        """Return whether both sides of a pair are in the language of the other side."""
        if not self._languages:
            return False
        source, target = self._languages
        src, tgt = set(words_of(pair.src)), set(words_of(pair.tgt))
        return len(src & target) > len(src & source) and len(tgt & source) > len(tgt & target)


def words_of(text: str) -> list[str]:
    return text.lower().split()[:100]


def swapped(pair: Pair) -> Pair:
    return pair._replace(src=pair.tgt, tgt=pair.src)
