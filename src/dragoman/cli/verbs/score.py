"""`dragoman score`: measure a model on a test set, or compare two."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dragoman.cli.answers import score_answers
from dragoman.cli.counting import ProgressCount, decoded, total_of
from dragoman.cli.flagged import CutOutputs
from dragoman.cli.next_commands import to_run
from dragoman.cli.options import metrics
from dragoman.cli.options import search as choosing
from dragoman.cli.options.overrides import add_languages, split_overrides
from dragoman.cli.score_sections import Section, TestSet, say_all, sections
from dragoman.cli.score_tables import table
from dragoman.cli.terminal import LiveLine, say, talk
from dragoman.cli.verbs.run import RUNTIMES, load_model, open_model, opened_output
from dragoman.errors import DataError, UsageError
from dragoman.metrics.names import USUAL
from dragoman.spelling import missing_file_hint

if TYPE_CHECKING:
    from dragoman.config.data import Corpus
    from dragoman.config.root import Config
    from dragoman.inference.runtimes.runtime import RuntimeName
    from dragoman.metrics.report import ScoreReport
    from dragoman.tasks.load import TaskModel
    from dragoman.text.languages import Languages

HELP = """\
Measure a model on a test set: BLEU, chrF, exact matches and error rates, each with its 95 % interval. Or
compare two on the same test set.

  dragoman score en-de test.en test.de
  dragoman score en-de test.en test.de --against en-de-old --diff 10
  dragoman score en-de test.en test.de --explain   where it loses points, and why
  dragoman score en-de test.en test.de --by-length --show-edits 5
  dragoman score test.de --hyp output.de           the outputs of any system
  dragoman score test.src test.ref0 --ref test.ref1 --hyp output.txt --metrics napoles_gleu rouge"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "what",
        nargs="+",
        metavar="MODEL FILE",
        help="a model, then two text files or one file with both sides (default: the test set in the "
        "model's settings); then settings such as search.size=1",
    )
    group = parser.add_argument_group("input and output")
    add = group.add_argument
    add_languages(group)
    add(
        "--ref",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="more references; may be repeated",
    )
    add("--hyp", type=Path, metavar="FILE", help="score these outputs instead of a model's")
    add("--save", type=Path, metavar="FILE", help="write the outputs to FILE, one per line")
    add("--json", action="store_true", help="print one JSON object, with sacreBLEU's signatures")
    add = parser.add_argument_group("comparison").add_argument
    add("--against", type=Path, metavar="OTHER", help="compare with another model, or with a file of outputs")
    add("--diff", type=int, metavar="N", help="with --against: the N outputs that differ most, word by word")
    metrics.add_arguments(parser)
    add = parser.add_argument_group("model").add_argument
    add(
        "--calibrate",
        action="store_true",
        help="learn from these pairs what the model's confidence is worth, and write it to the model folder; "
        "use a development set, not the test set",
    )
    add("--runtime", choices=RUNTIMES, help="inference engine (default: an export if there is one)")
    add("--device", default="auto", metavar="NAME", help="auto (default), cpu, cuda or cuda:1")
    add("--context", type=int, metavar="N", help="language models: tokens in a window (default: as trained)")
    add("--stride", type=int, metavar="N", help="language models: tokens between windows (default: half)")


def run(args: argparse.Namespace) -> int:
    from dragoman.metrics.report import score

    names, overrides = split_overrides(args.what)
    model, files = (None, names) if args.hyp else (names[0], names[1:])
    check_arguments(args, files, overrides)
    metrics.check_arguments(args)
    if model and not settings_of(model).is_text_to_text:
        loaded = cast("TaskModel", open_model(model, args.runtime, args.device))
        warn_trained_on(model, files)
        print_scores(args, *score_answers(loaded, files, overrides, args))
        talk(f"Next: {to_run(loaded.config, model)}")
        return 0
    args.metrics = args.metrics or USUAL
    if model and files:
        warn_swapped(model, files)
        warn_trained_on(model, files)
    test = test_set(model, files, args.languages, args.ref)
    check_test(args, test)
    outputs, runtime = outputs_of(args.hyp or Path(model or ""), test, overrides, args.runtime, args.device)
    if args.save:
        with opened_output(args.save) as out:
            out.writelines(line + "\n" for line in outputs)
    if args.calibrate and model:
        calibrate_model(model, test)
    others: list[str] | None = None
    if args.against:
        others, other_runtime = outputs_of(args.against, test, overrides, args.runtime, args.device)
        if runtime and other_runtime and runtime != other_runtime:
            talk(
                f"{model} runs in {runtime} and {args.against} in {other_runtime}; --runtime torch runs both."
            )
    report = score(
        outputs,
        *test.all_references,
        lowercase=args.lowercase,
        metrics=args.metrics,
        sources=test.sources,
    )
    print_scores(args, report, list(sections(args, test, outputs, others)), runtime)
    warn_copying(report, test)
    talk(f"Next: {next_command(model, files, args)}")
    return 0


def print_scores(
    args: argparse.Namespace,
    report: ScoreReport,
    more: Sequence[Section],
    runtime: RuntimeName | None = None,
) -> None:
    """Print the scores, and whatever else is asked for."""
    if args.json:
        facts: dict[str, Any] = {"runtime": runtime} if runtime else {}
        for section in more:
            facts |= section.facts
        say(json.dumps({**report.asdict(), **facts}))
        return
    say_all(table(report, runtime))
    for section in more:
        section.show()


def check_arguments(args: argparse.Namespace, files: Sequence[str], overrides: Sequence[str]) -> None:
    """Raise errors that can be found before time is spent on decoding."""
    hyp, against = args.hyp, args.against
    if hyp and (overrides or args.calibrate or args.robustness or not files or Path(files[0]).is_dir()):
        raise UsageError(
            "With --hyp there is no model to run: give only the test set.",
            where="the command line",
            expected="dragoman score test.tgt --hyp FILE",
            hint=f"dragoman score test.tgt --hyp {hyp}",
        )
    if args.diff is not None and (args.diff < 1 or not against):
        raise UsageError(
            "--diff takes the number of outputs to show, and --against what they are compared with.",
            where=f"--diff {args.diff}",
            expected="a number of at least 1, and --against",
            hint=f"dragoman score {' '.join(args.what)} --against OTHER --diff 10",
        )
    if against and not against.exists():
        raise UsageError(
            f"There is no {against} to compare with.",
            where=f"--against {against}",
            expected="a model folder, or a file of outputs",
            hint=missing_file_hint(against),
        )


def test_set(
    model: str | None, files: Sequence[str], languages: Languages | None, further: Sequence[Path]
) -> TestSet:
    """Return the pairs of the files, and further references."""
    from dragoman.data.readers.open_pairs import form, open_lines, open_pairs
    from dragoman.inference.find_model import find_model
    from dragoman.tasks.load import direction_of

    more = [list(open_lines(file)) for file in further]
    if model is None and len(files) == 1 and form(Path(files[0])) == "plain":
        return TestSet([], list(open_lines(files[0])), more)
    if not files:
        own = own_test_set(model or "")
        files, languages = own.files, own.languages
    if model and not languages:
        languages = direction_of(find_model(model), files)
    pairs = list(open_pairs(files, languages=languages))
    return TestSet([pair.src for pair in pairs], [pair.tgt for pair in pairs], more)


def check_test(args: argparse.Namespace, test: TestSet) -> None:
    """Raise errors of the test set that can be found before time is spent on decoding."""
    from dragoman.metrics.report import checked_metrics

    for file, references in zip(args.ref, test.more, strict=True):
        if len(references) != len(test.references):
            raise DataError(
                f"It has {len(references):,} lines, and the test set has {len(test.references):,}.",
                where=f"--ref {file}",
                expected="a reference for each line of the test set",
                hint="Count the lines: wc -l FILE",
            )
    checked_metrics(args.metrics, test.references, test.all_references, test.sources)
    for option, what in (("--by-length", "Scores by length need"), ("--explain", "An explanation needs")):
        if vars(args)[option[2:].replace("-", "_")] and not test.sources:
            raise UsageError(
                f"{what} the source side of the test set, not only the references.",
                where=option,
                hint=f"dragoman score test.src {args.what[0]} --hyp {args.hyp} {option}",
            )


def settings_of(model: str) -> Config:
    from dragoman.inference.find_model import find_model
    from dragoman.tasks import load

    return load.settings_of(find_model(model))


def warn_swapped(model: str, files: Sequence[str]) -> None:
    """Warn if the names of the files suggest the opposite direction."""
    from dragoman.data.readers.file_languages import are_swapped, language_names

    train = settings_of(model).data.train
    if train and are_swapped(files, train[0].files):
        shown, theirs = (" → ".join(language_names(names)) for names in (files, train[0].files))
        talk(f"By their names, {' '.join(files)} are {shown}, but {model} was trained for {theirs}.")


def warn_trained_on(model: str, files: Sequence[str]) -> None:
    trained_on = {Path(file).resolve() for corpus in settings_of(model).data.train for file in corpus.files}
    if files and {Path(file).resolve() for file in files} <= trained_on:
        talk(f"{model} was trained on these pairs, so the scores say nothing about new ones.")


def warn_copying(report: ScoreReport, test: TestSet) -> None:
    """Say so if outputs are no better than their sources, as may be in catalogues full of names."""
    from dragoman.metrics.report import values

    if "bleu" not in report.scores or not test.sources or len(test.all_references) > 1:
        return
    copied = values(test.sources, test.references)["bleu"]
    if copied >= report.scores["bleu"].value:
        talk(f"To copy the source would score no less: BLEU {copied:.2f}.")


def own_test_set(model: str) -> Corpus:
    """Return the data.test of the model's settings."""
    test = settings_of(model).data.test
    if test is None:
        raise UsageError(
            "There is nothing to score on: no files were given, and the model's settings name no test set.",
            where=model,
            hint=f"dragoman score {model} test.src test.tgt",
        )
    return test


def outputs_of(
    system: Path,
    test: TestSet,
    overrides: Sequence[str],
    runtime: RuntimeName | None = None,
    device: str = "auto",
) -> tuple[list[str], RuntimeName | None]:
    """Return the outputs of a model and its runtime; or the lines of a file and None."""
    from dragoman.config.load import with_overrides

    if system.is_file():
        from dragoman.data.readers.open_pairs import open_lines

        return list(open_lines(system)), None
    if not test.sources:
        raise UsageError(
            "A model needs the source side of the test set, not only the references.",
            where=str(system),
            hint=f"dragoman score {system} test.src test.tgt",
        )
    model = load_model(str(system), runtime, device=device)
    if model.runtime.text.lowercase:
        talk(f"{system} writes lower case: use -lc to ignore case.")
    search = with_overrides(model.runtime.search, overrides)
    with LiveLine() as live:
        results = decoded(model, test.sources, search, ProgressCount(live, total_of(test.sources)))
    cut = CutOutputs()
    for line, result in enumerate(results, start=1):
        cut.add(line, result)
    cut.report()
    return [choosing.line(result.text) for result in results], model.runtime.name


def calibrate_model(model: str, test: TestSet) -> None:
    from dragoman.data.pair import Pair
    from dragoman.inference.quality.confidence import calibrate
    from dragoman.models.bundle import add_calibration

    loaded = load_model(model, "torch")
    sides = zip(test.sources, test.references, strict=True)
    pairs = [Pair(src, tgt, line) for line, (src, tgt) in enumerate(sides, start=1)]
    learned = calibrate(loaded.translator, pairs)
    add_calibration(loaded.folder, learned)
    before, after = learned.error
    talk(
        f"Calibrated on {learned.sentences:,} pairs: token ECE {before:.3f} before, "
        f"{after:.3f} after (of each half, fitted on the other)."
    )
    if learned.warning:
        talk(learned.warning)


def next_command(model: str | None, files: Sequence[str], args: argparse.Namespace) -> str:
    if args.against and model:
        return shlex.join(["dragoman", "run", model, "TEXT"])
    outputs = ["--hyp", str(args.hyp)] if args.hyp else [model or ""]
    further = ["--against", str(args.against), "--diff", "10"] if args.against else ["--against", "OTHER"]
    return shlex.join(["dragoman", "score", *outputs, *files, *further])
