"""`dragoman show` with the files of a test set: a report on one model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.options.overrides import is_file
from dragoman.cli.terminal import LiveLine, give, say, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.inference.model import Model
    from dragoman.report.report import Report
    from dragoman.tasks.load import TaskModel


def is_test_set(model: str, given: Sequence[str]) -> bool:
    """Return whether the arguments after a model are files of a test set, and not one input."""
    from dragoman.cli.verbs.score import settings_of
    from dragoman.config.parts.source import TextSource
    from dragoman.data.readers.open_pairs import form

    if not given or not all(map(is_file, given)):
        return not given
    is_list = len(given) > 1 or form(Path(given[0])) != "plain"
    return is_list or isinstance(settings_of(model).data.source, TextSource)


def show_report(args: argparse.Namespace, files: Sequence[str], overrides: Sequence[str]) -> None:
    if args.picture or args.dark or args.beam:
        raise UsageError(
            "--picture, --dark and --beam are for the pictures of one text.",
            where="the command line",
            expected="the files of a test set without them, or one text",
            hint=f"dragoman show {args.model} {' '.join(files)} -o report.html",
        )
    written(args, report_of(args, files, overrides), f"dragoman show {' '.join([args.model, *files])}")


def written(args: argparse.Namespace, found: Report, command: str) -> None:
    """Write a report to a file, or print it."""
    if args.output is not None:
        found.save(args.output)
        talk(f"{args.output}: {found.verdict}")
    elif args.json:
        give(json.dumps(found.asdict(), ensure_ascii=False) + "\n")
    else:
        for line in str(found).split("\n"):
            say(line)
        talk(f"Next: {command} -o report.html")


def report_of(args: argparse.Namespace, files: Sequence[str], overrides: Sequence[str]) -> Report:
    from dragoman.cli.verbs.run import open_model
    from dragoman.report.gather import report_on
    from dragoman.report.measured_on import measured_on

    model = open_model(args.model)
    pairs, test, outputs = measured_on(model, files, args.languages)
    if outputs is None or overrides:
        outputs = answers(model, [pair.src for pair in pairs], overrides)
    return report_on(model, pairs, test, outputs)


def answers(model: Model | TaskModel, sources: list[str], overrides: Sequence[str]) -> list[str] | None:
    """Return the outputs, with their progress; None for a model that does not answer."""
    from dragoman.cli.answers import search_option
    from dragoman.cli.counting import ProgressCount, decoded, total_of
    from dragoman.config.load import with_overrides
    from dragoman.inference.model import Model
    from dragoman.tasks.scores_text import ScoresText

    if isinstance(model, Model):
        search = with_overrides(model.runtime.search, overrides)
        with LiveLine() as live:
            results = decoded(model, sources, search, ProgressCount(live, total_of(sources)))
        return [result.text for result in results]
    if isinstance(model.task, ScoresText):
        return None
    return [answer.text for answer in model(sources, **search_option(model, overrides))]
