"""Messages of `run` and `score` about outputs that need review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.cli.format import plural
from dragoman.cli.terminal import talk

if TYPE_CHECKING:
    from dragoman.inference.result import Result

SHOWN = 10  # line numbers listed


class CutOutputs:
    """The lines whose output was cut, by reason."""

    def __init__(self) -> None:
        self.too_long: list[int] = []
        self.runaway: list[int] = []

    def add(self, line: int, result: Result) -> None:
        if result.truncated:
            (self.runaway if result.ran_away else self.too_long).append(line)

    def report(self) -> None:
        if self.too_long:
            talk(
                f"Truncated: {lines(self.too_long)}, because the input or the output is too long. "
                "Split long lines, or raise search.max_length."
            )
        if self.runaway:
            talk(
                f"Stopped: {lines(self.runaway)}, which became far longer than the source: runaway "
                "output. The model may need more training; search.guard=false turns this limit off."
            )


def lines(numbers: Sequence[int]) -> str:
    first = ", ".join(map(str, numbers[:SHOWN])) + (" …" if len(numbers) > SHOWN else "")
    return f"{plural(len(numbers), 'output')} (line {first})"


def report_flagged(flagged: Mapping[int, tuple[str, ...]], review: str = "Review") -> None:
    if flagged:
        first = ", ".join(
            f"line {number}: {' '.join(flags)}" for number, flags in list(flagged.items())[:SHOWN]
        )
        talk(f"{review} {plural(len(flagged), 'output')} ({first}{', …' if len(flagged) > SHOWN else ''}).")
