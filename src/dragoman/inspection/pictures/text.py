"""An explanation as a table for a terminal: a line per output token."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from dragoman.inspection.data import AttentionLayer, OutputStep
from dragoman.inspection.pictures.labels import label, safe

OTHERS = 3
RARE = 0.005  # the least probability of a token that is listed
BAR = 8  # columns
HEAD = ("output", "p", "reads", "instead of")


def table(text: str, output: str, steps: Sequence[OutputStep], attention: Sequence[AttentionLayer]) -> str:
    """Return the text and its output, then for each token its probability, the source token with the most
    attention, and the most likely tokens that were not written."""
    cross = [layer for layer in attention if layer.kind == "cross"]
    read = most_read(cross[-1]) if cross else [""] * len(steps)
    rows = [
        (label(step.token), f"{bar(step.p)} {percent(step.p):>5}", reads, instead(step))
        for step, reads in zip(steps, read, strict=True)
    ]
    return "\n".join([safe(text), f"→ {safe(output)}", "", *aligned([HEAD, *rows])])


def most_read(layer: AttentionLayer) -> list[str]:
    found = []
    for row in layer.mean:
        weight = max(row)
        found.append(f"{label(layer.keys[row.index(weight)])} ({percent(weight)})")
    return found


def instead(step: OutputStep) -> str:
    others = [choice for choice in step.top if choice.token != step.token and choice.p >= RARE][:OTHERS]
    return " · ".join(f"{label(choice.token)} ({percent(choice.p)})" for choice in others)


def bar(p: float) -> str:
    full = round(BAR * p)
    return "█" * full + "░" * (BAR - full)


def percent(p: float) -> str:
    return f"{100 * p:.0f} %" if p >= RARE else "< 1 %"


def aligned(rows: Sequence[Sequence[str]], to_right: Sequence[int] = ()) -> list[str]:
    """Return the rows with columns as wide as their widest cell, without those that are empty; the columns
    `to_right`, which have numbers, end at the right."""
    columns = list(enumerate(zip(*rows, strict=True)))
    kept = [(number, column) for number, column in columns if any(column[1:])]
    padded = []
    for number, column in kept:
        width = max(map(cell_len, column))
        padded.append([pad(cell, width, to_right=number in to_right) for cell in column])
    return ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]


def pad(cell: str, width: int, *, to_right: bool) -> str:
    room = " " * (width - cell_len(cell))
    return room + cell if to_right else cell + room
