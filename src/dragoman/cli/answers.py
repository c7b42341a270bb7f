"""`dragoman run` and `dragoman score` for models of other tasks than translation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, TextIO

from dragoman.cli.format import HEADINGS, listed
from dragoman.cli.options.overrides import split_texts
from dragoman.cli.options.search import line as as_line
from dragoman.cli.options.search import overrides as search_overrides
from dragoman.cli.terminal import give
from dragoman.errors import UsageError
from dragoman.tasks.scores_text import ScoresText

if TYPE_CHECKING:
    from dragoman.cli.input_lines import InputLine
    from dragoman.cli.score_sections import Section
    from dragoman.config.search import SearchConfig
    from dragoman.data.pair import Pair
    from dragoman.metrics.report import ScoreReport
    from dragoman.tasks.load import TaskModel

# Options that every task has; others belong to translation.
RUN = {"model", "text", "file", "output", "json", "runtime", "device", "literal", "languages"}
SCORE = {"what", "languages", "json", "runtime", "device", "save", "lowercase"}
SEARCH = {"batch", "nbest", "sample", "continued", "lm", "lm_weight"}  # of models whose answers are searched
MEASURED = {"metrics", "show_edits", "edit_costs"}  # of models whose answers have references
TEXT = {"context", "stride"}  # of models that say how likely a text is
GLOBAL = {"verb", "debug", "quiet", "run", "started"}


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

    taken = set(signature(model.answerer).parameters)
    refuse_options(model, args, RUN | taken | (SEARCH if "search" in taken else set()))
    refuse_n_best(model, args)
    how: dict[str, Any] = {"details": args.details, "forbid": args.forbid or ()}
    how = {name: value for name, value in how.items() if name in taken}
    how |= search_option(model, split_texts(args.text)[1], args)
    number = 0
    for lines in batches:
        for input, answer in zip(lines, model([line.text for line in lines], **how), strict=True):
            number += 1
            shown = {"line": number, "source": input.text, **answer.asdict()}
            text = as_line(answer.text) if args.continued is None else answer.text
            give(as_json(shown) + "\n" if args.json else text + input.end, out)
        out.flush()


def refuse_n_best(model: TaskModel, args: argparse.Namespace) -> None:
    """Raise UsageError if several answers are asked for, but one is written."""
    samples = model.config.task == "lm"
    if args.nbest is not None and (samples or not args.json):
        raise UsageError(
            "--nbest has no effect here: one line per input is written.",
            where=f'{model.folder}: task = "{model.config.task}"',
            hint="--sample seed=1, then seed=2 and so on" if samples else "Add --json.",
        )


def search_option(
    model: TaskModel, overrides: Sequence[str], args: argparse.Namespace | None = None
) -> dict[str, SearchConfig]:
    """Return the search settings of a model, if it has any, with the changes of the command line.

    `args` are those of `run`, which has options for them too.
    """
    from dragoman.config.load import with_overrides

    own: SearchConfig | None = getattr(model.answerer, "search", None)
    if own is None:
        refuse_overrides(model, overrides)
        return {}
    named = [] if args is None else search_overrides(args, own)
    batch = [] if args is None or args.batch is None else [f"search.batch_sentences={args.batch}"]
    return {"search": with_overrides(own, [*named, *overrides, *batch])}


def refuse_overrides(model: TaskModel, overrides: Sequence[str]) -> None:
    if overrides:
        raise UsageError(
            "This needs no search, so there are no settings to change.",
            where=f'{overrides[0]}, for {model.folder}: task = "{model.config.task}"',
            hint="Leave it out.",
        )


def score_answers(
    model: TaskModel, files: Sequence[str], overrides: Sequence[str], args: argparse.Namespace
) -> tuple[ScoreReport, list[Section]]:
    """Return the scores of a model on files, or on its own test set, and what else is asked for."""
    if isinstance(model.task, ScoresText):
        refuse_overrides(model, overrides)
        return score_text(model, model.task, files, args), []
    from dragoman.cli.score_sections import Section, TestSet, say_all, sections
    from dragoman.metrics.report import score
    from dragoman.tasks.remarks import remarks

    refuse_options(model, args, SCORE | MEASURED)
    pairs = list(examples(model, files, args))
    test = TestSet([pair.src for pair in pairs], [pair.tgt for pair in pairs])
    answers = model(test.sources, **search_option(model, overrides))
    outputs = [answer.text for answer in answers]
    if args.save:
        from dragoman.cli.verbs.run import opened_output

        with opened_output(args.save) as out:
            out.writelines(as_line(text) + "\n" for text in outputs)
    how: dict[str, Any] = {"lowercase": args.lowercase}
    if args.metrics:
        report = score(outputs, test.references, metrics=args.metrics, sources=test.sources, **how)
    else:
        report = model.task.score(outputs, test.references, **how)
    said = remarks(model, pairs, answers)
    more = [Section(said, partial(say_all, remark_lines(said)))] if said else []
    return report, [*sections(args, test, outputs, None), *more]


def remark_lines(said: dict[str, Any]) -> Iterator[str]:
    """Yield the remarks as text."""
    yield ""
    for name, values in said["baselines"].items():
        shown = "   ".join(f"{HEADINGS[metric]} {value:.2f}" for metric, value in values.items())
        yield f"{name:<21}{shown}"
    if unknown := said.get("unknown_labels"):
        wrong = f"{sum(unknown.values()):,} counted as wrong"
        yield f"{'unknown labels':<21}{wrong}: {listed(list(unknown))}"
    if "calibration_error" in said:
        yield f"{'calibration error':<21}{said['calibration_error']:.2f} %"
    for wanted, found, count in said.get("most_confused", []):
        yield f"{'confused':<21}{wanted} with {found}: {count:,}"


def score_text(
    model: TaskModel, task: ScoresText, files: Sequence[str], args: argparse.Namespace
) -> ScoreReport:
    """Return how likely a text is; with --save, write the log p of each token of its lines as JSON."""
    from dragoman.cli.verbs.run import as_json, opened_output

    refuse_options(model, args, SCORE | TEXT)
    if args.save:
        with opened_output(args.save) as out:
            for pair in examples(model, files, args):
                tokens = task.token_scores(model.answerer, pair.tgt)
                out.write(
                    as_json({"text": pair.tgt, "log_p": sum(p for _, p in tokens), "tokens": tokens}) + "\n"
                )
    pairs = examples(model, files, args)
    return task.score_text(model.answerer, pairs, context=args.context, stride=args.stride)


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
