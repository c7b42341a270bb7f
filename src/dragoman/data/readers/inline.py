"""The text of a segment with inline elements. Marked-up text is kept; native codes of tools are not."""

from __future__ import annotations

from pathlib import Path

from dragoman.data.readers.bad_line import BadLine, bad_line
from dragoman.data.readers.lines import LIMIT
from dragoman.data.readers.markup import End, Event, Start, Text

MAX_BYTES = 40 * LIMIT  # of a segment, including markup


class Inline:
    """Collects the text between `open` and `close`. The content of elements in `codes` is left out."""

    def __init__(self, codes: frozenset[str], file: Path) -> None:
        self.codes, self.file = codes, file
        self.is_open = False
        self._line = self._byte = 0
        self._parts: list[str] = []
        self._size = self._inside = 0

    def open(self, start: Start) -> None:
        self.is_open, self._line, self._byte = True, start.line, start.byte
        self._parts, self._size, self._inside = [], 0, 0

    def take(self, event: Event) -> None:
        if not self.is_open:
            return
        match event:
            case Start(name) if self._inside or name in self.codes:
                self._inside += 1
            case End() if self._inside:
                self._inside -= 1
            case Text(_, byte) if byte - self._byte > MAX_BYTES:
                raise too_long(self.file, self._line).error
            case Text(text) if not self._inside and self._size <= LIMIT:
                self._parts.append(text)
                self._size += len(text)

    def close(self) -> str:
        """Return the text as one line. Text that is too long is returned as it is, for `is_too_long`."""
        self.is_open = False
        if self._size > LIMIT:
            return "".join(self._parts)
        return " ".join(filter(None, map(str.strip, "".join(self._parts).split("\n"))))

    @staticmethod
    def is_too_long(*texts: str) -> bool:
        return any(len(text) > LIMIT for text in texts)


def too_long(file: Path, line: int) -> BadLine:
    return bad_line(
        "too long",
        file,
        line,
        f"This unit is longer than {LIMIT:,} characters or has too much markup.",
        expected="a sentence or a paragraph in each unit",
        hint="Split it in the tool that created it.",
    )
