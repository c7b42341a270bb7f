"""`dragoman show` with the files of a test set: a report on one model, or a comparison of several."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.options.overrides import is_file, is_there
from dragoman.cli.terminal import LiveLine, give, say, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.inference.model import Model
    from dragoman.inspection.explanation import Explanation
    from dragoman.reports.report import Comparison, Report
    from dragoman.tasks.load import TaskModel


def is_test_set(model: str, given: Sequence[str]) -> bool:
    """Return whether what follows a model are further models or files of a test set, and not one input."""
    from dragoman.cli.verbs.score import settings_of
    from dragoman.config.parts.source import TextSource
    from dragoman.data.readers.open_pairs import form

    models, given = split_models(given)
    if models or not given:
        return all(map(is_file, given))
    if not all(map(is_file, given)):
        return False
    is_list = len(given) > 1 or form(Path(given[0])) != "plain"
    return is_list or isinstance(settings_of(model).data.source, TextSource)


def show_report(args: argparse.Namespace, files: Sequence[str], overrides: Sequence[str]) -> None:
    others, files = split_models(files)
    if args.picture or args.dark or args.beam:
        raise UsageError(
            "--picture, --dark and --beam are for the pictures of one text.",
            where="the command line",
            expected="the files of a test set without them, or one text",
            hint=f"dragoman show {args.model} {' '.join(files)} -o report.html",
        )
    if args.output is not None:
        refuse_output(args.output)
    models = [args.model, *others]
    found = compared(args, models, files, overrides) if others else report_of(args, files, overrides)
    written(args, found, f"dragoman show {shlex.join([*models, *files])}")


def refuse_output(file: Path) -> None:
    """Raise errors of the output before time is spent on decoding."""
    from dragoman.inspection.pictures.files import refuse_missing_folder, refuse_other_suffix
    from dragoman.reports.pages import environment

    refuse_other_suffix(file, "report", (".html", ".json"))
    if file.suffix.lower() == ".html":
        environment()
    refuse_missing_folder(file)


def split_models(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split what follows a model into further models, which are folders, and files."""
    models = list(takewhile(lambda name: is_there(name) and Path(name).is_dir(), given))
    return models, list(given[len(models) :])


def compared(
    args: argparse.Namespace, names: Sequence[str], files: Sequence[str], overrides: Sequence[str]
) -> Comparison:
    from dragoman.cli.verbs.run import open_model
    from dragoman.reports.compare import compare_on
    from dragoman.reports.measured_on import kept_outputs, measured_on

    models = [open_model(name) for name in names]
    pairs, test, _ = measured_on(models[0], files, args.languages)
    sources = [pair.src for pair in pairs]
    found = [
        (None if overrides else kept_outputs(model, pairs)) or answers(model, sources, overrides)
        for model in models
    ]
    return compare_on(models, pairs, test, found)


def written(args: argparse.Namespace, found: Report | Comparison, command: str) -> None:
    """Write a report to a file, or print it."""
    if args.output is not None:
        found.save(args.output)
        talk(f"{args.output}: {found.verdict}")
    else:
        print_found(args, found, f"{command} -o report.html")


def print_found(
    args: argparse.Namespace, found: Report | Comparison | Explanation, next_command: str, *messages: str
) -> None:
    """Print the data, or a table, messages and the next command."""
    if args.json:
        give(json.dumps(found.asdict(), ensure_ascii=False) + "\n")
        return
    for line in str(found).split("\n"):
        say(line)
    for message in (*messages, f"Next: {next_command}"):
        talk(message)


def report_of(args: argparse.Namespace, files: Sequence[str], overrides: Sequence[str]) -> Report:
    from dragoman.cli.verbs.run import open_model
    from dragoman.reports.gather import report_on
    from dragoman.reports.measured_on import measured_on

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
