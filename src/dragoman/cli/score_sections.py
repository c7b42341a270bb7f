"""What `score` reports besides the scores, if it is asked for: each section as JSON and as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from dragoman.cli.differences import show
from dragoman.cli.edits import costs_of, show_edits, worst
from dragoman.cli.error_tables import analysed, error_lines
from dragoman.cli.robustness import robustness_lines, translator
from dragoman.cli.score_tables import confusion_table, length_table, type_table, versus
from dragoman.cli.terminal import say


class TestSet(NamedTuple):
    sources: list[str]  # empty if only references are given
    references: list[str]
    more: Sequence[list[str]] = ()  # further references, of --ref

    @property
    def all_references(self) -> list[list[str]]:
        return [self.references, *self.more]


class Section(NamedTuple):
    facts: dict[str, Any]
    show: Callable[[], None]


def sections(
    args: argparse.Namespace, test: TestSet, outputs: list[str], others: list[str] | None
) -> Iterator[Section]:
    """Yield the sections; `others` are the outputs to compare with."""
    if others is not None:
        yield comparison(args, test, outputs, others)
    if args.by_length:
        yield lengths(args, test, outputs)
    compared, *wanted = (
        [line.lower() if args.lowercase else line for line in lines]
        for lines in (outputs, *test.all_references)
    )
    yield from labels(args.metrics or (), compared, wanted[0])
    if args.explain:
        sources = [line.lower() if args.lowercase else line for line in test.sources]
        found = analysed(args, sources, compared, wanted)
        lines = error_lines(found, args.explain)
        yield Section({"errors": found.asdict(args.explain)}, partial(say_all, lines))
    if args.robustness:
        yield changed_sources(args, test, outputs)
    if args.diff and others is not None:
        from dragoman.analysis.differences import differences

        apart = differences(test.sources, test.references, outputs, others)
        facts = {"differences": [one._asdict() for one in apart[: args.diff]]}
        yield Section(facts, partial(show, apart, args.diff, len(outputs)))
    if args.show_edits:
        costs = costs_of(args.edit_costs)
        edited = worst(test.sources, wanted, compared, args.show_edits, costs)
        yield Section({"edits": [one.asdict() for one in edited]}, partial(show_edits, edited, costs))


def comparison(args: argparse.Namespace, test: TestSet, outputs: list[str], others: list[str]) -> Section:
    from dragoman.metrics.significance import compare

    rows = compare(
        outputs,
        others,
        *test.all_references,
        lowercase=args.lowercase,
        metrics=args.metrics,
        sources=test.sources,
    )
    facts = {row.metric: {"value": row.baseline, "p": row.p_value} for row in rows}
    return Section({"against": facts}, partial(say_all, versus(rows, args.against)))


def lengths(args: argparse.Namespace, test: TestSet, outputs: list[str]) -> Section:
    from dragoman.metrics.length_buckets import by_length

    found = by_length(
        test.sources, outputs, *test.all_references, lowercase=args.lowercase, metrics=args.metrics
    )
    return Section({"by_length": found.asdict()}, partial(say_all, length_table(found)))


def changed_sources(args: argparse.Namespace, test: TestSet, outputs: list[str]) -> Section:
    from dragoman.analysis.robustness import robustness

    found = robustness(
        translator(args), test.sources, outputs, *test.all_references, lowercase=args.lowercase
    )
    facts = [one.asdict() for one in found]
    return Section({"robustness": facts}, partial(say_all, robustness_lines(found)))


def labels(metrics: Sequence[str], outputs: list[str], references: list[str]) -> Iterator[Section]:
    """Yield the spans by type, and the labels that are confused, if they are measured."""
    from dragoman.metrics.confusion import macro_f1
    from dragoman.metrics.span_f1 import by_type

    if "span_f1" in metrics:
        types = by_type(outputs, references)
        facts = {
            name: {"precision": one.precision, "recall": one.recall, "f1": one.f1, **one._asdict()}
            for name, one in types.items()
        }
        yield Section({"by_type": facts}, partial(say_all, type_table(types)))
    if "macro_f1" in metrics:
        confused = macro_f1(outputs, references).most_confused()
        yield Section({"confusions": confused}, partial(say_all, confusion_table(confused)))


def say_all(lines: Iterable[str]) -> None:
    for line in lines:
        say(line)
