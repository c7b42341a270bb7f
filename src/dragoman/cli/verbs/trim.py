"""`dragoman trim`: remove the sub-words that a model's texts do not use."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from dragoman.cli.format import format_count
from dragoman.cli.terminal import say, talk
from dragoman.errors import needs_extra

HELP = """\
Make a model smaller: drop the sub-words that some texts do not use. The model reads these texts as before;
bytes and single characters stay, so it can still read and write everything.

  dragoman trim en-de -o en-de-small                    keep what its training data uses
  dragoman trim en-de --separate -o en-de-small         a vocabulary per side: faster
  dragoman trim en-de legal.en legal.de -o en-de-legal  keep what these texts use"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="two text files, or one .tsv or .jsonl (default: the training data)",
    )
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the new model folder")
    add("--separate", action="store_true", help="split a joint vocabulary into one for each side")
    add("--json", action="store_true", help="print the result as one JSON object")


def run(args: argparse.Namespace) -> int:
    with needs_extra("Trimming needs PyTorch, which is not installed.", "train"):
        from dragoman.export.trim import in_words, trim
    done = trim(args.model, args.output, args.files, separate=args.separate)
    before, after = done.parameters
    if args.json:
        say(json.dumps({**done._asdict(), "folder": str(done.folder)}))
    else:
        say(f"wrote       {done.folder}")
        say(f"entries     {in_words(done.before)} → {in_words(done.after)}")
        say(f"parameters  {format_count(before)} → {format_count(after)}")
        say(f"outputs     {done.same} of {done.compared} stay the same (greedy search)")
    then = ["dragoman", "export", str(args.output), "--to", "ct2", "--quantization", "int8"]
    talk(f"Next: {shlex.join(then)}")
    return 0
