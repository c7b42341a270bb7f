"""Progress of decoding a file: lines done, speed and time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.cli.format import duration
from dragoman.search.batch_invariance import length_batches

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.cli.terminal import LiveLine
    from dragoman.config.search import SearchConfig
    from dragoman.inference.model import Model
    from dragoman.inference.result import Result

BATCHES = 4  # decoded per progress update; with fewer, batches are less full and decoding is slower
BLOCK = 1 << 20


class Total(NamedTuple):
    """The size of the input: characters predict the time left better than lines do."""

    lines: int
    characters: int


def total_of(sources: Sequence[str]) -> Total:
    return Total(len(sources), sum(map(len, sources)))


def total_of_files(inputs: Sequence[str | Path]) -> Total | None:
    """Return the size of texts and files; None if one can be read only once, or not at all."""
    from dragoman.data.readers.open_file import open_bytes
    from dragoman.errors import DataError

    lines = size = 0
    for one in inputs:
        if isinstance(one, str):
            lines, size = lines + 1, size + len(one)
        elif not one.is_file():
            return None
        else:
            try:
                with open_bytes(one) as source:
                    last = b"\n"
                    while block := source.read(BLOCK):
                        lines, size, last = lines + block.count(b"\n"), size + len(block), block[-1:]
                lines += last != b"\n"
            except DataError:  # reported where the file is read
                return None
    return Total(lines, size) if inputs else None


class ProgressCount:
    def __init__(
        self,
        line: LiveLine,
        total: Total | None,
        noun: str = "line",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.line, self._total, self._noun, self._now = line, total, noun, now
        self._began = now()
        self._lines = self._characters = 0

    def add(self, sources: Sequence[str]) -> None:
        self._lines += len(sources)
        self._characters += sum(map(len, sources))
        self.show()

    def show(self) -> None:
        self.line.show("   ".join(self.parts()))

    def parts(self) -> list[str]:
        of = f" of {self._total.lines:,}" if self._total else ""
        shown = [f"{self._lines:,}{of} {self._noun}s"]
        seconds = self._now() - self._began
        if self._lines and seconds > 0:
            shown.append(f"{self._lines / seconds:,.0f} {self._noun}s/s")
            left = max(0, self._total.characters - self._characters) if self._total else 0
            if left and self._characters:
                shown.append(f"{duration(left * seconds / self._characters)} left")
        return shown


def decoded(
    model: Model, sources: Sequence[str], search: SearchConfig, count: ProgressCount, **options: Any
) -> list[Result]:
    """Return all results; if progress is shown, decode in parts of similar length, as batches are."""
    part = BATCHES * search.batch_sentences * getattr(model.runtime, "workers", 1)
    if not count.line.is_seen or len(sources) <= part:
        results = model(list(sources), search, **options)
        count.add(sources)
        return results
    count.show()
    by_index: dict[int, Result] = {}
    for indices in length_batches(list(map(len, sources)), part):
        chunk = [sources[index] for index in indices]
        by_index.update(zip(indices, model(chunk, search, **options), strict=True))
        count.add(chunk)
    return [by_index[index] for index in range(len(sources))]
