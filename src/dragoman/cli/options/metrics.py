"""Options of `score` that choose what is measured and shown."""

from __future__ import annotations

import argparse
from pathlib import Path

from dragoman.cli.edits import costs_of
from dragoman.errors import UsageError
from dragoman.metrics.names import GROUPS, TITLES, USUAL, known_metrics

WORST = 10  # outputs that --show-edits and --explain show by default


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
    add_error_analysis(parser)


def add_error_analysis(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--explain",
        type=int,
        nargs="?",
        const=WORST,
        metavar="N",
        help="also where points are lost, suspects of omission and hallucination, baselines, and reasons for "
        f"the N worst outputs (default: {WORST})",
    )
    add(
        "--training",
        nargs="+",
        metavar="FILE",
        help="with --explain: the training data (default: that of the model)",
    )
    add(
        "--robustness",
        action="store_true",
        help="also the scores of the sources with typos, in lower and upper case, and without punctuation",
    )


def check_arguments(args: argparse.Namespace) -> None:
    """Replace groups of metrics by their members, and raise errors of these options."""
    args.metrics = args.metrics and known_metrics(args.metrics)
    costs_of(args.edit_costs)
    for option, asked in (("--show-edits", args.show_edits), ("--explain", args.explain)):
        if asked is not None and asked < 1:
            raise UsageError(
                f"{option} takes the number of outputs to show.",
                where=f"{option} {asked}",
                expected="a number of at least 1",
                hint=f"{option} {WORST}",
            )
    if args.training and args.explain is None:
        raise UsageError(
            "--training is what --explain compares the test set with.",
            where=f"--training {' '.join(args.training)}",
            expected="--explain",
            hint=f"--explain --training {' '.join(args.training)}",
        )
