"""What `run` and `score` say of outputs that a person should look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dragoman.cli.terminal import talk

if TYPE_CHECKING:
    from dragoman.inference.result import Result

SHOWN = 10  # numbers of lines


class CutOutputs:
    """The lines whose output is not whole, by the reason."""

    def __init__(self) -> None:
        self.too_long: list[int] = []
        self.babble: list[int] = []

    def add(self, line: int, result: Result) -> None:
        if result.truncated:
            (self.babble if result.ran_away else self.too_long).append(line)

    def report(self) -> None:
        if self.too_long:
            talk(
                f"Truncated: {lines(self.too_long)}, because the input or the output is too long. "
                "Split long lines, or raise search.max_length."
            )
        if self.babble:
            talk(
                f"Stopped: {lines(self.babble)}, which had become far longer than their source: the model "
                "babbled. It may need more training; search.guard=false lets it go on."
            )


def lines(numbers: Sequence[int]) -> str:
    first = ", ".join(map(str, numbers[:SHOWN])) + (" …" if len(numbers) > SHOWN else "")
    return f"{len(numbers):,} of the outputs (line {first})"


def report_flagged(flagged: Mapping[int, tuple[str, ...]], place: str = "line") -> None:
    if flagged:
        first = ", ".join(
            f"{place} {number}: {' '.join(flags)}" for number, flags in list(flagged.items())[:SHOWN]
        )
        talk(
            f"Look twice at {len(flagged):,} of the outputs ({first}{', …' if len(flagged) > SHOWN else ''})."
        )
