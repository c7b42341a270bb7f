"""What `run` says of outputs that a person should look at."""

from __future__ import annotations

from dragoman.cli.terminal import talk

SHOWN = 10  # numbers of lines


def report_truncated(numbers: list[int]) -> None:
    if numbers:
        first = ", ".join(map(str, numbers[:SHOWN])) + (" …" if len(numbers) > SHOWN else "")
        talk(
            f"Truncated: {len(numbers):,} of the outputs (line {first}), "
            "because the input or the output is too long. Split long lines, or raise search.max_length "
            "(search.guard=false lets an output be of any length)."
        )


def report_flagged(flagged: dict[int, tuple[str, ...]], place: str = "line") -> None:
    if flagged:
        first = ", ".join(
            f"{place} {number}: {' '.join(flags)}" for number, flags in list(flagged.items())[:SHOWN]
        )
        talk(
            f"Look twice at {len(flagged):,} of the outputs ({first}{', …' if len(flagged) > SHOWN else ''})."
        )
