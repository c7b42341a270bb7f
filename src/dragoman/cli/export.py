"""`dragoman export`: write what other engines run, and prove that it does the same."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.wording import printable
from dragoman.errors import MissingExtra

if TYPE_CHECKING:
    from dragoman.export.folder import Exported
    from dragoman.export.verify import Agreement

HELP = """\
Write a model for another engine. It must answer as the model does, or nothing is written.

  dragoman export en-de --to ct2                        for CTranslate2, into en-de/model/ct2
  dragoman export en-de --to ct2 --quantization int8    a quarter of the size, and faster
  dragoman export en-de --to ct2 -o en-de-ct2"""

QUANTIZATIONS = ("float32", "float16", "bfloat16", "int8")
SHOWN = 3  # sentences whose outputs differ


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add("--to", required=True, choices=("ct2",), help="ct2: a directory for CTranslate2")
    add("--quantization", choices=QUANTIZATIONS, default="float32", help="how weights are stored")
    add("-o", "--output", type=Path, metavar="DIR", help="where it goes, instead of into the model folder")
    add("--json", action="store_true", help="what was proven, as one JSON object")


def run(args: argparse.Namespace) -> int:
    try:
        from dragoman.export.folder import export_ct2
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "An export needs PyTorch and CTranslate2.",
            where=str(error),
            hint='pip install "dragoman[train,export]"',
        ) from None
    exported = export_ct2(args.model, args.output, args.quantization)
    if args.json:
        say(json.dumps(as_json(exported)))
    else:
        for line in lines(exported, args.quantization):
            say(line)
    talk(f"Next: ctranslate2.Translator({str(exported.folder)!r}) in Python, or copy the folder")
    return 0


def as_json(exported: Exported) -> dict[str, object]:
    rounded = asdict(exported.rounded) if exported.rounded else None
    return {"folder": str(exported.folder), "float32": asdict(exported.proof), "rounded": rounded}


def lines(exported: Exported, quantization: str) -> list[str]:
    from dragoman.cli.ending import folder_size
    from dragoman.cli.wording import size

    proof = exported.proof
    found = [
        f"wrote   {exported.folder}   {size(folder_size(exported.folder))}, {quantization}",
        f"proven  on {proof.greedy.sentences} sentences {proof.origin}",
        f"        greedy  {agreement(proof.greedy)}",
        f"        beam 5  {agreement(proof.beam)}",
        f"        every token of the vocabularies, log p within {proof.worst_token:.1g}",
    ]
    for difference in proof.beam.differences[:SHOWN]:
        found.append(f'          torch  {difference.our_score:.5f}  "{difference.ours}"')
        found.append(f'          ct2    {difference.their_score:.5f}  "{difference.theirs}"')
    if exported.rounded:
        rounded = exported.rounded
        found.append(f"{quantization:<8}{rounded.same} of {rounded.sentences} greedy outputs stay the same")
    return found


def agreement(found: Agreement) -> str:
    return f"{found.same} of {found.sentences} outputs the same, scores within {found.worst:.1g}"


def say(line: str) -> None:
    sys.stdout.write(printable(line) + "\n")


def talk(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")
