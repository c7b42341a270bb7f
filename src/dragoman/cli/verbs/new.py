"""`dragoman new`: create a folder with an example task and generated data."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from dragoman.cli.terminal import give, say, talk
from dragoman.cli.verbs import distil
from dragoman.cores import use_passive_waiting
from dragoman.data.recipes.build import RECIPES, make_recipe
from dragoman.errors import UsageError
from dragoman.spelling import closest, did_you_mean

HELP = """\
Create a folder with an example: data, a dragoman.toml and a README.

  dragoman new                             list the examples
  dragoman new dates                       create the folder dates
  dragoman new dates -o my-dates           create it elsewhere
  dragoman new spelling --data pairs.tsv   use your own data; some is held out

Some are lessons: several models learn the same task, one after another, and are compared.

  dragoman new from-rnn-to-attention --train
  dragoman new from-rnn-to-attention --train --models elman bahdanau2015

One makes a small, fast model that learns from a large one.

  dragoman new distil --teacher en-de -o en-de-small"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the example (default: list them all)")
    parser.add_argument("-o", "--out", metavar="DIR", help="the folder to create (default: NAME)")
    parser.add_argument(
        "--data",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="your data instead of made-up data: two text files whose lines match, or a .tsv, .csv or .jsonl",
    )
    parser.add_argument("--force", action="store_true", help="write into a folder that is not empty")
    parser.add_argument(
        "--train", action="store_true", help="lessons only: train the models and compare them"
    )
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="lessons only: train only these")
    distil.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        list_recipes()
        return 0
    if args.name == distil.NAME:
        return distil.run(args)
    if args.name not in RECIPES:
        raise unknown(args.name)
    folder = Path(args.out or args.name)
    lesson = RECIPES[args.name].lesson
    if args.train or args.models:
        return teach(args, folder, lesson)
    for file in make_recipe(args.name, folder, args.data, force=args.force):
        give(f"{file}\n")
    words = ["new", args.name, *(["-o", args.out] if args.out else []), "--train"]
    then = shlex.join(["dragoman", *(words if lesson else ["train", str(folder)])])
    for line in ("", RECIPES[args.name].about, f"Next: {then}"):
        talk(line)
    return 0


def teach(args: argparse.Namespace, folder: Path, lesson: Sequence[str]) -> int:
    """Train the models of a lesson; one that was started is resumed."""
    models = args.models or list(lesson)
    refuse_wrong_lesson(args, lesson, models)
    if args.force or not (folder / "dragoman.toml").exists():
        make_recipe(args.name, folder, args.data, force=args.force)
    use_passive_waiting()
    from dragoman.cli.verbs import lesson as lessons  # imports PyTorch

    lessons.teach(folder, models)
    return 0


def refuse_wrong_lesson(args: argparse.Namespace, lesson: Sequence[str], models: Sequence[str]) -> None:
    unknown_models = [name for name in models if name not in lesson]
    if lesson and not unknown_models:
        return
    what = f'This lesson has no model "{unknown_models[0]}".' if lesson else f"{args.name} is not a lesson."
    raise UsageError(
        what,
        where="the command line",
        expected=f"--models with some of {', '.join(lesson)}" if lesson else "a lesson",
        hint=f"dragoman new {args.name} --train" if lesson else f"dragoman new {args.name}",
    )


def list_recipes() -> None:
    for name, recipe in RECIPES.items():
        say(f"{name:<24}{recipe.about}")
    say(f"{distil.NAME:<24}{distil.ABOUT}")
    sys.stdout.flush()
    talk(f"Next: dragoman new {next(iter(RECIPES))}")


def unknown(name: str) -> UsageError:
    names = [*RECIPES, distil.NAME]
    close = closest(name, names, cutoff=0.5)
    return UsageError(
        f'There is no recipe "{name}".' + did_you_mean(close),
        where="the command line",
        expected="one of " + ", ".join(names),
        hint=f"dragoman new {close}" if close else "dragoman new lists them.",
    )
