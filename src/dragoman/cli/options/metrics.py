"""Options of `score` that choose what is measured and shown."""

from __future__ import annotations

import argparse

from dragoman.cli.edits import costs_of
from dragoman.errors import UsageError
from dragoman.metrics.names import GROUPS, TITLES, USUAL, known_metrics

WORST = 10  # outputs that --show-edits and --explain show by default


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("measures").add_argument
    further = [name for name in (*TITLES, *GROUPS) if name not in USUAL]
    add(
        "-m",
        "--metrics",
        nargs="+",
        metavar="NAME",
        help=f"what to measure (default: {', '.join(USUAL)}); also {', '.join(further)}",
    )
    add("-lc", "--lowercase", action="store_true", help="ignore case")
    add("--by-length", action="store_true", help="also score by the length of the source")
    add(
        "--robustness",
        action="store_true",
        help="also score with typos, in lower and upper case, and without punctuation",
    )
    add = parser.add_argument_group("errors").add_argument
    add(
        "--explain",
        type=int,
        nargs="?",
        const=WORST,
        metavar="N",
        help="show where points are lost, what may be omitted or made up, baselines, and reasons for the N "
        f"worst outputs (default: {WORST})",
    )
    add(
        "--training",
        nargs="+",
        metavar="FILE",
        help="with --explain: the training data (default: as in the model's settings)",
    )
    add(
        "--show-edits",
        type=int,
        nargs="?",
        const=WORST,
        metavar="N",
        help=f"show the N outputs furthest from their references (default: {WORST}), aligned word by word",
    )
    add(
        "--edit-costs",
        metavar="I/D/S",
        help="with --show-edits: what insertions, deletions and substitutions cost (default: 1/1/1)",
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
            "--training names the data that --explain compares the test set with.",
            where=f"--training {' '.join(args.training)}",
            expected="--explain",
            hint=f"--explain --training {' '.join(args.training)}",
        )
