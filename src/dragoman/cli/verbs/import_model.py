"""`dragoman import`: convert a Marian model to a model folder."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dragoman.cli.format import format_count
from dragoman.cli.terminal import say, talk
from dragoman.errors import needs_extra

HELP = """\
Convert a Marian (OPUS-MT) Transformer and its SentencePiece models to a model folder. No code in it is run.
If the model needs a feature that Dragoman lacks, it is refused and the feature is named.

  dragoman import opus-mt-en-de -o en-de   .npz, *vocab.yml and *.spm"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("path", type=Path, metavar="PATH", help="the folder of the Marian model")
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the new model folder")
    add("--json", action="store_true", help="print the result as one JSON object")


def run(args: argparse.Namespace) -> int:
    from dragoman.importing.npz import check_archives

    check_archives(args.path)
    with needs_extra("An import needs PyTorch and PyYAML.", "train,import"):
        from dragoman.importing.import_model import import_model
    done = import_model(args.path, args.output)
    if args.json:
        say(json.dumps({**done._asdict(), "folder": str(done.folder)}))
    else:
        say(f"wrote       {done.folder}   from a {done.maker} model")
        say(f"entries     {done.entries[0]:,} → {done.entries[1]:,}")
        say(f"parameters  {format_count(done.parameters)}")
        for note in done.notes:
            say(f"note        {note}")
    talk(f"Next: dragoman run {args.output} TEXT")
    return 0
