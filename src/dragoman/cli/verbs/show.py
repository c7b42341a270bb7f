"""`dragoman show`: draw what happens inside a model for one text."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.options.overrides import split_texts
from dragoman.cli.terminal import give, say, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.inspection.explanation import Explanation

HELP = """\
Draw what happens inside a model for one text: attention, beam tree, steps, saliency, gates, gradients.

  dragoman show en-de "A man is riding a bicycle."                          a table in the terminal
  dragoman show en-de "A man is riding a bicycle." -o man.html              every picture, with pickers
  dragoman show en-de "A man is riding a bicycle." --beam 5 -o man.svg      attention and beam tree
  dragoman show en-de "A man is riding a bicycle." --picture ribbons -o man.png --dark
  dragoman show en-de "A man is riding a bicycle." -o man.json              the data of all of them"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add("text", nargs="*", metavar="TEXT", help="one text; then settings such as search.length_penalty=0.6")
    add("--beam", type=int, metavar="N", help="hypotheses of the beam search (default: as in the settings)")
    add("-o", "--output", type=Path, metavar="FILE", help="a .svg, .png, .html or .json file")
    add("--picture", metavar="NAME", help="one picture only: attention, ribbons, beam, steps, saliency …")
    add("--dark", action="store_true", help="light on dark; a .html file follows the reader's preference")
    add("--json", action="store_true", help="print the data instead of the table")
    parser.set_defaults(literal=())  # the arguments after "--"


def run(args: argparse.Namespace) -> int:
    found = explained(args)
    if args.output is not None:
        found.save(args.output, args.picture, "dark" if args.dark else "light")
        drawn = ", ".join(found.pictures) if args.output.suffix.lower() == ".html" else args.picture
        talk(f"{args.output}: {drawn}" if drawn else f"{args.output}")
    elif args.json:
        give(json.dumps(found.asdict(), ensure_ascii=False) + "\n")
    else:
        for line in str(found).split("\n"):
            say(line)
        talk(f"Next: dragoman show {args.model} TEXT -o picture.html draws {', '.join(found.pictures)}")
    return 0


def explained(args: argparse.Namespace) -> Explanation:
    from dragoman.cli.verbs.run import load_model
    from dragoman.config.load import with_overrides

    texts, overrides = split_texts(args.text)
    given = [*texts, *args.literal]
    if len(given) != 1:
        raise UsageError(
            "One text is shown at a time.",
            where="the command line",
            expected=f"one TEXT, not {len(given)}",
            hint=f'dragoman show {args.model} "A man is riding a bicycle."',
        )
    model = load_model(args.model, "torch")
    search = with_overrides(model.runtime.search, overrides)
    return model.explain(given[0], search, beam=args.beam, saliency=needs_saliency(args))


def needs_saliency(args: argparse.Namespace) -> bool:
    """Return whether what is written holds the saliency, which takes longer than all the rest."""
    holds_all = args.json or (args.output is not None and args.output.suffix.lower() in (".html", ".json"))
    return holds_all or args.picture == "saliency"
