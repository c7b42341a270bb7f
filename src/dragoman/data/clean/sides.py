"""Checks that source and target match and are not swapped, by lengths, words and file names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers import tmx, xliff
from dragoman.data.readers.open_pairs import form, text_suffix
from dragoman.errors import DataError
from dragoman.text.languages import Languages

ENOUGH = 200  # pairs needed for an estimate
UNRELATED = 0.15  # length correlation below which sides are unrelated; translations have 0.8 and more
VARIED = 0.2  # minimum standard deviation of log lengths; equal lengths carry no information
COUNTED_PAIRS = 20_000  # pairs whose words are counted
FREQUENT = 300  # most frequent words of a side, which identify it
MARGIN = 0.25  # by which the share of words of the other side must exceed that of its own
NO_LANGUAGES = ("txt", "src", "tgt")


class Lengths:
    """The correlation of the log lengths of source and target over all pairs."""

    def __init__(self) -> None:
        self._count = 0
        self._sums = [0.0] * 5  # x, y, x², y², xy

    def add(self, pair: Pair) -> None:
        x, y = math.log(len(pair.src) + 1), math.log(len(pair.tgt) + 1)
        self._count += 1
        for index, value in enumerate((x, y, x * x, y * y, x * y)):
            self._sums[index] += value

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
        self._pairs = 0

    def add(self, pair: Pair) -> None:
        if self._pairs < COUNTED_PAIRS:
            self._pairs += 1
            for counts, text in zip(self._counts, (pair.src, pair.tgt), strict=True):
                counts.update(text.lower().split()[:100])

    def frequent(self, side: int) -> set[str]:
        return {word for word, _ in self._counts[side].most_common(FREQUENT)}

    def share(self, side: int, words: set[str]) -> float:
        """Return the share of `words` in the running words of a side."""
        counts = self._counts[side]
        return sum(count for word, count in counts.items() if word in words) / max(1, counts.total())

    def is_turned(self, train: Words) -> bool:
        """Return whether the sources resemble the training targets, and the targets the training sources."""
        sides = [train.frequent(side) for side in (0, 1)]
        only = [sides[0] - sides[1], sides[1] - sides[0]]
        return self._pairs > 0 and all(
            self.share(side, only[1 - side]) > self.share(side, only[side]) + MARGIN for side in (0, 1)
        )


def language_names(files: Sequence[str | Path]) -> list[str]:
    """Return ["en", "de"] for train.en and train.de, or [] if the names are not language codes."""
    names = [text_suffix(Path(file))[1:] for file in files]
    are_codes = all(2 <= len(name) <= 3 and name.isalpha() and name not in NO_LANGUAGES for name in names)
    return names if len(names) == 2 and are_codes and names[0] != names[1] else []


def corpus_languages(files: Sequence[str | Path], languages: Languages | None = None) -> list[str]:
    """Return the two languages of a corpus: as given, or as its file names or its memory have them, or []."""
    if languages or len(files) != 1:
        return list(languages or language_names(files))
    file = Path(files[0])
    with suppress(DataError):  # there is no such file any more, or reading the pairs will say what is wrong
        match form(file):
            case "tmx":
                return list(tmx.languages_in(file) or ())
            case "xliff":
                return list(xliff.languages_in(file) or ())
    return []


def are_swapped(files: Sequence[str | Path], train: Sequence[str | Path]) -> bool:
    """Return whether the file names show that source and target are swapped."""
    names = language_names(files)
    return bool(names) and names[::-1] == language_names(train)
