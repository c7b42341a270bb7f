"""`score --diff`: the outputs of two systems that differ most, with the differing words marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.cli.terminal import say, say_marked

if TYPE_CHECKING:
    from dragoman.analysis.differences import Difference


def show(found: Sequence[Difference], most: int, sentences: int) -> None:
    from dragoman.analysis.differences import marked

    say("")
    say(f"{len(found):,} of {sentences:,} outputs differ. Largest differences in chrF:")
    for one in found[:most]:
        say("")
        say(f"line {one.line:<6,}{one.source}")
        say(f"  reference  {one.reference}")
        for name, score, text, other in (
            ("this", one.this_chrf, one.this, one.other),
            ("other", one.other_chrf, one.other, one.this),
        ):
            say_marked([(f"  {name:<5} {score:>3.0f}  ", False), *marked(text, other)])
