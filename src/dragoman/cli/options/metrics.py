"""Options of `score` that choose what is measured and shown."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.edits import costs_of
from dragoman.errors import UsageError
from dragoman.metrics.names import GROUPS, TITLES, USUAL, known_metrics

WORST = 10  # outputs that --show-edits shows by default


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    further = [name for name in (*TITLES, *GROUPS) if name not in USUAL]
    add(
        "-m",
        "--metrics",
        nargs="+",
        metavar="NAME",
        help=f"what to measure (default: {', '.join(USUAL)}); also {', '.join(further)}",
    )
    add(
        "--ref",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="further references; may be repeated",
    )
    add("--by-length", action="store_true", help="also the scores by length of the source")
    add(
        "--show-edits",
        type=int,
        nargs="?",
        const=WORST,
        metavar="N",
        help=f"show the N outputs (default: {WORST}) furthest from their references, aligned word by word",
    )
    add(
        "--edit-costs",
        metavar="I/D/S",
        help="with --show-edits: costs of insertion, deletion, substitution, such as 1/1/2 (default: 1/1/1)",
    )


def check_arguments(args: argparse.Namespace) -> None:
    """Replace groups of metrics by their members, and raise errors of these options."""
    args.metrics = args.metrics and known_metrics(args.metrics)
    costs_of(args.edit_costs)
    if args.show_edits is not None and args.show_edits < 1:
        raise UsageError(
            "--show-edits takes the number of outputs to show.",
            where=f"--show-edits {args.show_edits}",
            expected="a number of at least 1",
            hint=f"--show-edits {WORST}",
        )
