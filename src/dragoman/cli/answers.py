"""`dragoman run` and `dragoman score` for models of other tasks than translation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from dragoman.cli.options.search import line as as_line
from dragoman.cli.terminal import give
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.cli.input_lines import InputLine
    from dragoman.data.pair import Pair
    from dragoman.metrics.report import ScoreReport
    from dragoman.tasks.load import TaskModel

# Options that every task has; others belong to translation.
RUN = {"model", "text", "file", "output", "json", "device", "literal", "languages", "batch"}
SCORE = {"what", "languages", "json", "device", "save", "lowercase"}
GLOBAL = {"verb", "debug", "quiet", "run"}


def refuse_options(model: TaskModel, args: argparse.Namespace, known: set[str]) -> None:
    """Raise UsageError if an option of translation is given."""
    unset: tuple[object, ...] = (None, False, (), [], 1, "cpu")
    given = [name for name, value in vars(args).items() if name not in known | GLOBAL and value not in unset]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} is for models that translate.",
            where=f'{model.folder}: task = "{model.config.task}"',
            hint="Leave it out.",
        )


def write_answers(
    model: TaskModel, batches: Iterable[Sequence[InputLine]], args: argparse.Namespace, out: TextIO
) -> None:
    """Write one line per input: the text of its answer, or all of it as JSON."""
    from dragoman.cli.verbs.run import as_json

    refuse_options(model, args, RUN)
    number = 0
    for lines in batches:
        for input, answer in zip(lines, model([line.text for line in lines]), strict=True):
            number += 1
            shown = {"line": number, "source": input.text, **answer.asdict()}
            give(as_json(shown) + "\n" if args.json else as_line(answer.text) + input.end, out)
        out.flush()


def score_answers(model: TaskModel, files: Sequence[str], args: argparse.Namespace) -> ScoreReport:
    """Return the scores of a model on files, or on the test set of its settings."""
    refuse_options(model, args, SCORE)
    pairs = list(examples(model, files, args))
    outputs = [answer.text for answer in model([pair.src for pair in pairs])]
    if args.save:
        from dragoman.cli.verbs.run import opened_output

        with opened_output(args.save) as out:
            out.writelines(as_line(text) + "\n" for text in outputs)
    return model.task.score(outputs, [pair.tgt for pair in pairs], lowercase=args.lowercase)


def examples(model: TaskModel, files: Sequence[str], args: argparse.Namespace) -> Iterator[Pair]:
    if files:
        return model.examples.read(files, None, args.languages)
    test = model.config.data.test
    if test is None:
        raise UsageError(
            "There is nothing to score on: no files were given, and the model's settings name no test set.",
            where=str(model.folder),
            hint=f"dragoman score {args.what[0]} test.tsv",
        )
    return model.examples.read(test.files, None, test.languages)
