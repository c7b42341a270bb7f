"""`dragoman new`: a folder with a task that makes its own data."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from pathlib import Path

from dragoman.data.recipes.build import RECIPES, make
from dragoman.errors import UsageError

HELP = """\
Make a folder with data, a dragoman.toml and a README: a task to learn the tool with.

  dragoman new                     lists the recipes
  dragoman new dates               makes the folder dates
  dragoman new dates -o my-dates   makes it elsewhere
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the recipe; none lists them all")
    parser.add_argument("-o", "--out", metavar="DIR", help="the folder to make (default: the recipe's name)")
    parser.add_argument("--force", action="store_true", help="write into a folder that is not empty")


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        list_recipes()
        return 0
    if args.name not in RECIPES:
        raise unknown(args.name)
    folder = Path(args.out or args.name)
    for file in make(args.name, folder, force=args.force):
        sys.stdout.write(f"{file}\n")
    sys.stderr.write(f"\n{RECIPES[args.name].about}\nNext: dragoman train {shlex.quote(str(folder))}\n")
    return 0


def list_recipes() -> None:
    for name, recipe in RECIPES.items():
        sys.stdout.write(f"{name:<10}{recipe.about}\n")
    sys.stdout.flush()
    sys.stderr.write(f"Next: dragoman new {next(iter(RECIPES))}\n")


def unknown(name: str) -> UsageError:
    close = difflib.get_close_matches(name, RECIPES, n=1, cutoff=0.5)
    return UsageError(
        f'There is no recipe "{name}".' + (f" Did you mean {close[0]}?" if close else ""),
        where="the command line",
        expected="one of " + ", ".join(RECIPES),
        hint=f"dragoman new {close[0]}" if close else "dragoman new lists them.",
    )
