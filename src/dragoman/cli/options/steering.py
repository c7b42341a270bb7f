"""Constraints of `dragoman run` on the output: prefix, glossary, forbidden words, placeholders."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.inference.result import Result
    from dragoman.steering.options import SteeringOptions
    from dragoman.steering.placeholders import Kind

SHOWN = 10  # unmet terms listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("constraints on the output").add_argument
    add(
        "--prefix",
        metavar="TEXT",
        help="begin every output with this; end it with a space if its last word is whole",
    )
    add(
        "--glossary",
        type=Path,
        metavar="FILE",
        help="use these terms: source, tab, target, with | between forms",
    )
    add("--forbid", action="append", metavar="WORD", help="avoid this word or phrase; may be repeated")
    add(
        "--keep",
        action="store_true",
        help="keep placeholders, tags and addresses exactly as they are",
    )
    add("--keep-numbers", action="store_true", help="also keep numbers")
    add(
        "--keep-pattern",
        action="append",
        default=[],
        metavar="REGEX",
        help="keep what this regular expression matches, such as 'ACME-\\d+'; may be repeated",
    )


def steering_options(args: argparse.Namespace) -> SteeringOptions:
    from dragoman.steering.glossary import read_glossary

    # Read once, not for every block of lines.
    glossary = read_glossary(args.glossary) if args.glossary else None
    keep = kept(args) if args.keep or args.keep_numbers or args.keep_pattern else ()
    return {"prefix": args.prefix, "glossary": glossary, "forbid": args.forbid or (), "keep": keep}


def kept(args: argparse.Namespace) -> tuple[Kind, ...]:
    from dragoman.steering.placeholders import DEFAULT_KINDS

    own = []
    for pattern in args.keep_pattern:
        try:
            own.append(re.compile(pattern))
        except re.error as error:
            raise UsageError(
                f"This is not a regular expression: {error.msg} at character {error.pos}.",
                where=f"--keep-pattern {shlex.quote(pattern)}",
                expected="a Python regular expression",
                hint="--keep-pattern 'ACME-[0-9]+'",
            ) from None
    return (*DEFAULT_KINDS, *(("numbers",) if args.keep_numbers else ()), *own)


class SteeringReport:
    """The number of requested terms and of those met, and the first unmet ones."""

    def __init__(self) -> None:
        self.requested = self.met = 0
        self._misses: list[str] = []

    def add(self, number: int, result: Result) -> None:
        for term in result.terms:
            self.requested += 1
            self.met += term.met
            if not term.met and len(self._misses) < SHOWN:
                wanted = f"{term.source} → {'|'.join(term.target)}" if term.target else term.source
                self._misses.append(f"  line {number}: {wanted}: {term.why}")

    @property
    def lines(self) -> list[str]:
        if not self.requested:
            return []
        more = self.requested - self.met - len(self._misses)
        return [
            f"Terms and placeholders met: {self.met:,} of {self.requested:,}.",
            *self._misses,
            *([f"  and {more:,} more; --json lists them"] if more > 0 else []),
        ]
