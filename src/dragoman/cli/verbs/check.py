"""`dragoman check`: inspect data before training, a model folder, or this machine."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dragoman.cli.options.overrides import add_languages
from dragoman.cli.terminal import say, talk
from dragoman.errors import ModelError, UsageError

if TYPE_CHECKING:
    from dragoman.data.clean.report import CheckReport
    from dragoman.data.examples import Examples
    from dragoman.text.languages import Languages

HELP = """\
Find the faults in your data before you train: lines that cannot be read, doubtful pairs, and validation or
test pairs that are also in the training data. Without files, describe this machine.

  dragoman check train.en train.de --valid val.en val.de
  dragoman check pairs.tsv --hold-out 1000 -o data   hold out pairs
  dragoman check dates                               the data of a project
  dragoman check en-de                               check that a model is intact"""


class Corpora(NamedTuple):
    train: list[list[str]]
    valid: list[str]
    test: list[str]
    next: str  # the command that trains
    languages: list[Languages | None]  # of each corpus of `train`
    examples: Examples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="two text files whose lines match, or .tsv, .csv, .jsonl, .tmx, .xliff or .po files (each may "
        "be .gz); or a folder with a dragoman.toml or a model",
    )
    add("--valid", nargs="+", default=[], metavar="FILE", help="find validation pairs that are in training")
    add("--test", nargs="+", default=[], metavar="FILE", help="find test pairs that are in training")
    add_languages(parser)
    add(
        "--hold-out",
        type=int,
        metavar="N",
        help="split the pairs: N for validation, N for test, the rest for training",
    )
    add("-o", "--output", metavar="DIR", help="the folder that --hold-out writes")
    add("--seed", type=int, default=1, metavar="N", help="random seed for --hold-out (default: 1)")
    add("--json", action="store_true", help="print the report as JSON, one line per corpus")


def run(args: argparse.Namespace) -> int:
    if (args.hold_out is None) != (args.output is None) or (args.hold_out is not None and args.hold_out < 1):
        raise UsageError(
            "--hold-out N and -o DIR go together, and N is at least 1.",
            where="the command line",
            hint="dragoman check train.en train.de --hold-out 1000 -o data",
        )
    if args.files and is_model(args.files):
        show_model(args.files[0], args.json)
        return 0
    if not args.files:
        show_machine(args.json)
        return 0
    corpora = find_corpora(args)
    named = zip(corpora.train, corpora.languages, strict=True)
    reports = [check_corpus(files, two, corpora, args) for files, two in named]
    if not all(report.usable for report in reports):
        talk("Next: fix the errors, then check again.")
        return 3
    then = write_split(corpora, args) if args.hold_out else corpora.next
    first = "review the warnings; then " if any(report.is_doubtful for report in reports) else ""
    talk(f"Next: {first}{then}")
    return 0


def find_corpora(args: argparse.Namespace) -> Corpora:
    """Return the corpora of the given files, or of the settings in the given folder."""
    from dragoman.data.examples import PAIRS
    from dragoman.data.readers.arrow import dataset_files
    from dragoman.data.readers.file_languages import are_swapped, corpus_languages
    from dragoman.data.readers.open_pairs import corpora_of, refuse_mixed

    parts = dataset_files(Path(args.files[0])) if len(args.files) == 1 else []
    if len(args.files) == 1 and os.path.isdir(args.files[0]) and not parts:
        return of_folder(Path(args.files[0]), args)
    if not args.languages:
        refuse_mixed(args.files)
    given = args.valid or []
    in_order = given[::-1] if are_swapped(given, args.files) else given
    valid = f" --valid {' '.join(in_order)}" if given else ""
    corpora = [[part] for part in parts] or corpora_of(args.files)
    name = "-".join(corpus_languages(corpora[0], args.languages)) or "model"
    two = f" --languages {' '.join(args.languages)}" if args.languages else ""
    train = f"dragoman train {' '.join(args.files)}{valid}{two} -o {name}"
    return Corpora(corpora, args.valid, args.test, train, [args.languages] * len(corpora), PAIRS)


def of_folder(folder: Path, args: argparse.Namespace) -> Corpora:
    from dragoman.config.load import load
    from dragoman.tasks.examples import build_examples

    config = load(folder / "dragoman.toml")
    data = config.data
    train = [list(corpus.files) for corpus in data.train]
    valid = args.valid or (list(data.valid.files) if data.valid else [])
    test = args.test or (list(data.test.files) if data.test else [])
    named = [args.languages or corpus.languages for corpus in data.train]
    return Corpora(train, valid, test, f"dragoman train {folder}", named, build_examples(config))


def check_corpus(
    files: list[str], two: Languages | None, corpora: Corpora, args: argparse.Namespace
) -> CheckReport:
    from dragoman.cli.check_text import describe
    from dragoman.data.clean.check import check
    from dragoman.data.readers.file_languages import corpus_languages

    report = check(files, valid=corpora.valid, test=corpora.test, languages=two, examples=corpora.examples)
    held = {"valid": corpora.valid, "test": corpora.test}
    if args.json:
        say(json.dumps(report.to_json()))
    else:
        for line in describe(report, " → ".join(corpus_languages(files, two)), held):
            say(line)
    return report


def write_split(corpora: Corpora, args: argparse.Namespace) -> str:
    from dragoman.data.pair import Pair
    from dragoman.data.readers.file_languages import corpus_languages
    from dragoman.data.readers.open_pairs import open_pairs
    from dragoman.data.split import split

    def pairs() -> Iterator[Pair]:
        named = zip(corpora.train, corpora.languages, strict=True)
        return chain.from_iterable(open_pairs(files, languages=two) for files, two in named)

    if len(corpora.train) > 1 and any(len(files) > 1 for files in corpora.train):
        raise UsageError(
            "Only one corpus of two files can be split at a time.",
            where=" ".join(args.files),
            hint="Name its files: dragoman check train.en train.de --hold-out 1000 -o data",
        )
    files = corpora.train[0]
    paths, targets = [Path(file) for file in files], corpora.examples.targets
    parts = split(pairs, paths, args.hold_out, args.seed, Path(args.output), targets)
    counts = " + ".join(f"{part.pairs:,} {name}" for name, part in parts.items())
    talk(f"  wrote {counts} to {args.output}, no pair in two of them")
    train, valid = (" ".join(map(str, parts[name].files)) for name in ("train", "valid"))
    if parts["valid"].pairs < args.hold_out:
        talk(f"  you asked for {args.hold_out:,}, but at most a twentieth of the pairs is held out for each")
    name = "-".join(corpus_languages(files, corpora.languages[0])) or "model"
    return f"dragoman train {train} --valid {valid} -o {name}"


def is_model(files: Sequence[str]) -> bool:
    """Return whether this is a model folder; for a task folder, the data are checked."""
    from dragoman.inference.find_model import find_model

    if len(files) > 1 or not os.path.isdir(files[0]) or Path(files[0], "dragoman.toml").is_file():
        return False
    with contextlib.suppress(ModelError):
        return find_model(files[0]).is_dir()
    return False


def show_model(path: str, as_json: bool) -> None:
    from dragoman.cli.verbs.info import next_command
    from dragoman.inference.verify import verify_model

    found = verify_model(path)
    if as_json:
        say(json.dumps(found))
    else:
        for name, facts in found.items():
            say(f"{name:<10} {facts}")
    talk("Every file is intact.")
    talk(f"Next: {next_command(path)}")


def show_machine(as_json: bool) -> None:
    from dragoman.cli.machine import machine

    found = machine()
    if as_json:
        say(json.dumps(found))
        return
    memory = f"{found['memory_gb']} GB free" if found["memory_gb"] else "unknown"
    say(f"processor  {found['processor']}, {found['cores']} cores")
    say(f"memory     {memory}")
    say(f"fast at    {', '.join(found['fast_formats']) or 'float32'}")
    say(f"python     {found['python']}")
    say(f"torch      {found['torch'] or 'not installed'}")
    if not found["torch"]:
        talk('To train models: pip install "dragoman[train]"')
    talk("Next: dragoman new dates")
    talk("      dragoman check train.en train.de")
