"""The outputs that are furthest from their references, aligned with them: `score --show-edits`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len

from dragoman.cli.terminal import STDOUT, columns, printable, say, say_marked
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.metrics.edit_distance import Costs, Edit

LABELS = ("  reference  ", "  output     ", "             ")
GAP = "*"
SPACE = "␣"  # of a text that is aligned by characters
CHANGES = {"S": "substituted", "D": "deleted", "I": "inserted"}


class Edited(NamedTuple):
    line: int
    source: str  # "" if only references are given
    reference: str
    output: str
    cost: int
    units: list[str]  # of the reference: words, or characters if it is one word
    edits: list[Edit]

    @property
    def rate(self) -> float:
        return 100 * self.cost / max(len(self.units), 1)

    def asdict(self) -> dict[str, Any]:
        return {**self._asdict(), "units": len(self.units), "edits": [list(edit) for edit in self.edits]}


def costs_of(text: str | None) -> Costs:
    """Parse the costs of an insertion, a deletion and a substitution, such as 1/1/2."""
    from dragoman.metrics.edit_distance import Costs

    if text is None:
        return Costs()
    if not re.fullmatch(r"[1-9]\d?/[1-9]\d?/[1-9]\d?", text, re.ASCII):
        raise UsageError(
            f'"{text}" is not the cost of an insertion, a deletion and a substitution.',
            where="--edit-costs",
            expected="three numbers from 1 to 99, such as 1/1/1 or 1/1/2",
            hint="--edit-costs 1/1/2",
        )
    return Costs(*map(int, text.split("/")))


def worst(
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    outputs: Sequence[str],
    most: int,
    costs: Costs,
) -> list[Edited]:
    """Return the outputs with the highest cost per word, each aligned with the nearest of its references."""
    from dragoman.metrics.edit_distance import align, edit_distance

    found = []
    for number, (output, *choices) in enumerate(zip(outputs, *references, strict=True)):
        nearest = []
        for reference in choices:
            wanted, ours = units_of(reference, output)
            nearest.append((edit_distance(wanted, ours, costs), wanted, ours, reference))
        cost, wanted, ours, reference = min(nearest, key=lambda one: one[0])
        if cost:
            source = sources[number] if sources else ""
            found.append((Edited(number + 1, source, reference, output, cost, wanted, []), ours))
    found.sort(key=lambda one: (-one[0].rate, -one[0].cost))
    return [one._replace(edits=align(one.units, ours, costs)) for one, ours in found[:most]]


def units_of(reference: str, output: str) -> tuple[list[str], list[str]]:
    """Split both into words; or into characters, if the reference is one word."""
    words = reference.split()
    return (list(reference), list(output)) if len(words) == 1 else (words, output.split())


def show_edits(found: Sequence[Edited], costs: Costs) -> None:
    say("")
    if not found:
        say("Every output equals its reference.")
        return
    say(f"Furthest from the reference, by edits that cost {'/'.join(map(str, costs))}:")
    for one in found:
        say("")
        say(f"line {one.line:<6,}{one.source}".rstrip())
        for block in blocks(one.edits):
            for row in range(len(LABELS)):
                say_marked(row_of(block, row), otherwise=("", ""))
        counts = Counter[str](edit.kind for edit in one.edits)
        changes = ", ".join(f"{counts[kind]} {name}" for kind, name in CHANGES.items())
        say(f"  {one.rate:.0f} %: {changes}")


class Column(NamedTuple):
    cells: tuple[str, str, str]  # of the reference, the output, and the kind of edit
    is_marked: bool

    @property
    def size(self) -> int:
        return max(map(cell_len, self.cells))


def blocks(edits: Sequence[Edit]) -> Iterator[list[Column]]:
    """Yield the columns of the alignment, as many at a time as fit the terminal; all for a file or a pipe."""
    room = columns(STDOUT) - len(LABELS[0]) if sys.stdout.isatty() else sys.maxsize
    block: list[Column] = []
    for edit in edits:
        texts = [printable(SPACE if text == " " else text) for text in (edit.wanted, edit.output)]
        gap = GAP * max(map(cell_len, texts))
        wanted, output = (text or gap for text in texts)
        column = Column((wanted, output, "" if edit.kind == "=" else edit.kind), edit.kind != "=")
        if block and sum(other.size + 1 for other in block) + column.size > room:
            yield block
            block = []
        block.append(column)
    yield block


def row_of(block: Sequence[Column], row: int) -> Iterator[tuple[str, bool]]:
    """Yield the label of the row, its cells, and the spaces between them."""
    yield LABELS[row], False
    blanks = 0
    for column in block:
        cell = column.cells[row]
        if cell:
            yield " " * blanks, False
            yield cell, column.is_marked
            blanks = 0
        blanks += column.size - cell_len(cell) + 1
