"""How the files of a task become examples. An example of any task is a Pair: what is read, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import OnBad
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.text.languages import Languages

# Files, what to do with a bad line, and the languages or columns of both sides → examples.
Reader = Callable[[Sequence[str], OnBad | None, Languages | None], Iterator[Pair]]


def read_pairs(
    files: Sequence[str], on_bad: OnBad | None = None, languages: Languages | None = None
) -> Iterator[Pair]:
    return open_pairs(files, on_bad=on_bad, languages=languages)


@dataclass(frozen=True)
class Examples:
    """The reader of a task, and what makes one of its examples unusable."""

    read: Reader = read_pairs
    has_source: bool = True  # a language model reads nothing but its own text

    def is_usable(self, src: Sequence[int], tgt: Sequence[int], longest: int) -> bool:
        """Return whether no side is empty or too long."""
        return self.has_source <= len(src) <= longest and 0 < len(tgt) <= longest
