"""`dragoman show`: draw what happens inside a model for one text, or report on it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.local_page import serve_page
from dragoman.cli.options.overrides import add_languages, split_texts
from dragoman.cli.reports import is_test_set, print_found, show_report
from dragoman.cli.terminal import talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.inspection.explanation import Explanation
    from dragoman.inspection.pictures.picture import Chart

HELP = """\
Look inside a model as it writes one text: attention, beam tree, steps, saliency, gates and gradients.

  dragoman show en-de "Where is my book?"                a table in the terminal
  dragoman show en-de "Where is my book?" -o book.html   every picture on a page
  dragoman show en-de "Where is my book?" -o book.svg    attention and beam tree
  dragoman show en-de TEXT --picture ribbons -o book.png --dark
  dragoman show en-de TEXT -o book.json                  the numbers behind them
  dragoman show digits seven.wav -o seven.svg            how a recording was read
  dragoman show en-de --picture curves                   how the training went
  dragoman show en-de --open                             change a word and watch
  dragoman show en-de --open --beside en-de-rnn          two models side by side

Or write a report about a model: its scores beside baselines, where it loses points and why, examples, data
and training.

  dragoman show en-de test.en test.de                    in short, in the terminal
  dragoman show en-de test.en test.de -o report.html     as a page that needs no network
  dragoman show en-de-old en-de test.en test.de -o report.html  two models in columns"""

OF_A_RUN = ("curves", "positions")  # pictures that need no text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add(
        "text",
        nargs="*",
        metavar="TEXT|FILE",
        help="one text, or the files of a test set (default: the test set in the model's settings, or its "
        "validation pairs); then settings such as search.length_penalty=0.6",
    )
    add_languages(parser)
    add("--beam", type=int, metavar="N", help="the size of the beam (default: as in the settings)")
    add("-o", "--output", type=Path, metavar="FILE", help="write a .svg, .png, .html or .json file")
    add(
        "--picture",
        metavar="NAME",
        help="draw one picture: attention, ribbons, beam, steps, saliency and so on; without -o, to NAME.svg",
    )
    add("--dark", action="store_true", help="light on dark; a page follows the reader's own preference")
    add("--json", action="store_true", help="print all the numbers instead of the table")
    add(
        "--open",
        action="store_true",
        help="open a page, for this machine only, on which you can change what the model chose",
    )
    add("--beside", action="append", default=[], metavar="MODEL", help="with --open: another model beside it")
    parser.set_defaults(literal=())  # the arguments after "--"


def run(args: argparse.Namespace) -> int:
    texts, overrides = split_texts(args.text)
    given = [*texts, *args.literal]
    if args.open and len(given) < 2:
        serve_page([args.model, *args.beside], "".join(given), args.beam, overrides)
        return 0
    if args.picture in OF_A_RUN and not given:
        draw_run(args)
        return 0
    if not args.literal and is_test_set(args.model, texts):
        show_report(args, texts, overrides)
        return 0
    if len(given) != 1:
        raise UsageError(
            "One text is shown at a time.",
            where="the command line",
            expected=f"one TEXT, not {len(given)}",
            hint=f'dragoman show {args.model} "A man is riding a bicycle."',
        )
    found = explained(args, given[0], overrides)
    if args.picture:
        found.picture(args.picture)  # raises if there is none of this name
        args.output = args.output or (None if args.json else Path(f"{args.picture}.svg"))
    if args.output is not None:
        found.save(args.output, args.picture, theme_name(args))
        drawn = ", ".join(found.pictures) if args.output.suffix.lower() == ".html" else args.picture
        talk(f"{args.output}: {drawn}" if drawn else f"{args.output}")
    else:
        drawn = f"Pictures: {', '.join(found.pictures)}"
        print_found(args, found, f"dragoman show {args.model} TEXT -o picture.html", drawn)
    return 0


def explained(args: argparse.Namespace, text: str, overrides: Sequence[str]) -> Explanation:
    from dragoman.cli.verbs.run import open_model
    from dragoman.config.load import with_overrides
    from dragoman.inference.model import Model

    model = open_model(args.model, "torch")
    if not isinstance(model, Model):
        return model.explain(text)
    search = with_overrides(model.runtime.search, overrides)
    return model.explain(text, search, beam=args.beam, saliency=needs_saliency(args))


def draw_run(args: argparse.Namespace) -> None:
    """Draw what needs no text: the learning curves of a run, or the positions of its network."""
    from dragoman.inspection.pictures.files import picture_formats, write_as
    from dragoman.inspection.pictures.page import page
    from dragoman.inspection.pictures.theme import theme_of

    chart = learning_curves_of(args.model) if args.picture == "curves" else positions_of(args.model)
    file = args.output or Path(f"{args.picture}.svg")
    theme = theme_of(theme_name(args))
    html = partial(page, f"{args.model}: {chart.title}", (), [chart])
    write_as(file, "picture", picture_formats(lambda: chart.svg(theme), html, theme))
    talk(str(file))


def learning_curves_of(path: str) -> Chart:
    from dragoman.inference.find_model import find_model
    from dragoman.inspection.pictures.statistics import learning_curves
    from dragoman.training.progress import recorded_progress

    out = find_model(Path(path)).parent
    progress = recorded_progress(out)
    if not progress.validations:
        raise UsageError(
            "There is no record of this model's training.",
            where=str(out / "events.jsonl"),
            expected="the folder that dragoman train -o wrote, after its first validation",
            hint=f"dragoman info {path}",
        )
    return learning_curves(progress.curves)


def positions_of(path: str) -> Chart:
    from dragoman.inference.find_model import find_model
    from dragoman.inspection.pictures.statistics import positional_encodings
    from dragoman.inspection.positions import positions_of as tables_of
    from dragoman.models.bundle import load_bundle

    tables = tables_of(load_bundle(find_model(Path(path))).model)
    if not tables:
        raise UsageError(
            "This network has no table of positions.",
            where=path,
            expected="a Transformer or ConvS2S with sinusoidal, learned or rotary positions",
            hint=f"dragoman info {path}",
        )
    return positional_encodings(tables)


def theme_name(args: argparse.Namespace) -> str:
    return "dark" if args.dark else "light"


def needs_saliency(args: argparse.Namespace) -> bool:
    """Return whether what is written holds the saliency, which takes longer than all the rest."""
    holds_all = args.json or (args.output is not None and args.output.suffix.lower() in (".html", ".json"))
    return holds_all or args.picture == "saliency"
