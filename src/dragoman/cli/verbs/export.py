"""`dragoman export`: write a model for another engine and verify its outputs."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.format import format_bytes
from dragoman.cli.terminal import say, talk
from dragoman.errors import UsageError, needs_extra

if TYPE_CHECKING:
    from dragoman.export.ct2 import Exported
    from dragoman.export.verify import Agreement, Proof
    from dragoman.export.verify_answers import AnswerProof

HELP = """\
Write a model for another engine. The export is kept only if its outputs match the model's.

  dragoman export en-de --to ct2                       for CTranslate2
  dragoman export en-de --to ct2 --quantization int8   smaller and faster
  dragoman export en-de --to argos --languages en de   for LibreTranslate, Argos
  dragoman export en-de-rnn --to onnx                  for ONNX Runtime"""

TARGETS = ("ct2", "onnx", "argos")
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int8")
SHOWN = 3  # sentences whose outputs differ
ALIKE = 0.9  # the smallest share of equal outputs that needs no remark


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add(
        "--to",
        required=True,
        choices=TARGETS,
        help="what to write: a folder for ct2 and onnx, an .argosmodel for argos",
    )
    add(
        "--quantization",
        choices=QUANTIZATIONS,
        default="float32",
        help="how to store the weights (default: float32)",
    )
    add("-o", "--output", type=Path, metavar="DIR", help="where to write it (default: into the model folder)")
    add(
        "--languages",
        nargs=2,
        metavar="CODE",
        help="argos only: the codes of both languages (default: from the training data)",
    )
    add("--names", nargs=2, metavar="NAME", help="argos only: the names of the languages")
    add(
        "--package-version",
        default="1.0",
        metavar="X.Y",
        help="argos only: the version of the package (default: 1.0)",
    )
    add("--back", metavar="MODEL", help="argos only: also package this model for the opposite direction")
    add("--json", action="store_true", help="print the comparison as one JSON object")


def run(args: argparse.Namespace) -> int:
    for model, exported in zip((args.model, args.back), written(args), strict=False):
        if args.json:
            say(json.dumps(as_json(exported)))
        else:
            for line in lines(model, exported, args.quantization):
                say(line)
    if args.to == "argos":
        talk(f"Next, in Python: argostranslate.package.install_from_path({str(exported.path)!r})")
    elif args.to == "onnx":
        talk(f"Next: dragoman run {exported.path} TEXT --runtime onnx")
    else:
        talk("It runs without PyTorch.")
        talk(f"Next: dragoman run {args.output or args.model} TEXT")
    return 0


def written(args: argparse.Namespace) -> Iterator[Exported]:
    """Yield each export once written: if the second direction fails, the first exists."""
    if args.to == "onnx":
        yield written_onnx(args)
        return
    with needs_extra("An export needs PyTorch and CTranslate2.", "train"):
        from dragoman.export.argos import Language, export_argos
        from dragoman.export.ct2 import export_ct2
    if args.to == "ct2":
        yield export_ct2(args.model, args.output, args.quantization)
        return
    codes = checked_languages(args)
    source, target = (Language(*pair) for pair in zip(codes, args.names or codes, strict=True))
    rest = (args.package_version, args.quantization)
    yield export_argos(args.model, args.output, source, target, *rest)
    if args.back:
        yield export_argos(args.back, args.output, target, source, *rest)


def written_onnx(args: argparse.Namespace) -> Exported:
    if args.quantization != "float32":
        raise UsageError(
            f"An export to ONNX keeps its weights as float32; {args.quantization} is not supported.",
            where="--quantization",
            hint=f"dragoman export {args.model} --to onnx",
        )
    with needs_extra("An export to ONNX needs PyTorch, ONNX Script and ONNX Runtime.", "train,onnx-export"):
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401

        from dragoman.export.onnx.export import export_onnx
    return export_onnx(args.model, args.output)


def checked_languages(args: argparse.Namespace) -> list[str]:
    """Return the language codes, which become names of a file and a folder, after checking them. If none are
    given, they are those of the training data."""
    from dragoman.data.readers.file_languages import corpus_languages
    from dragoman.inference.find_model import find_model
    from dragoman.inference.verify import read_parts
    from dragoman.models.folder import open_folder

    codes: list[str] = args.languages or []
    if not codes:
        config, _ = read_parts(open_folder(find_model(args.model)))
        codes = corpus_languages(config.data.train[0].files, config.data.train[0].languages)
    words = [*codes, args.package_version]
    if not codes or not all(re.fullmatch(r"[A-Za-z0-9]+([.-][A-Za-z0-9]+)*", word) for word in words):
        raise UsageError(
            "An Argos package needs two language codes.",
            where="the command line",
            expected="two codes such as en de, and a version such as 1.0 if one is given",
            hint=f"dragoman export {args.model} --to argos --languages en de",
        )
    return codes


def as_json(exported: Exported) -> dict[str, object]:
    rounded = asdict(exported.rounded) if exported.rounded else None
    search = exported.search and exported.search._asdict()
    return {
        "path": str(exported.path),
        "float32": asdict(exported.proof),
        "rounded": rounded,
        "search": search,
    }


def lines(model: str, exported: Exported, quantization: str) -> list[str]:
    from dragoman.export.probe_sentences import RANDOM
    from dragoman.export.verify import Proof

    proof = exported.proof
    found = [f"wrote   {exported.path}   {format_bytes(size_of(exported.path))}, {quantization}"]
    found += proof_lines(proof) if isinstance(proof, Proof) else answer_lines(proof)
    if exported.rounded:
        rounded = exported.rounded
        found.append(
            f"{quantization + ' ':<8}{rounded.same} of {rounded.sentences} greedy outputs stay the same"
        )
        found += unknown_cost(model, exported.path, quantization) if proof.origin == RANDOM else []
    if exported.search:
        found.append(f"search  {exported.search.sentence}")
    elif isinstance(proof, Proof) and exported.path.is_dir():  # Argos has its own
        found.append(
            "search  as chosen for the model: its validation files are missing, or its settings say so"
        )
    return found


def unknown_cost(model: str, path: Path, quantization: str) -> list[str]:
    """Return that the cost of rounding is not known, and the commands that measure it."""
    test = "test.src test.tgt"
    commands = [f"dragoman score {model} {test} --runtime torch", f"dragoman score {path} {test}"]
    if path.is_file():  # a package, which `score` cannot run
        again = f"{model}-{quantization}"
        write = f"dragoman export {model} --to ct2 --quantization {quantization} -o {again}"
        commands = [write, commands[0], f"dragoman score {again} {test}"]
    return [
        "        The validation and training data were not found, so the cost of rounding was measured on",
        "        random tokens only and is not known. Score both on a test set of your own:",
        *(f"          {command}" for command in commands),
    ]


def proof_lines(proof: Proof) -> list[str]:
    from dragoman.export.probe_sentences import RANDOM

    found = [
        f"proven  on {proof.greedy.sentences} sentences {proof.origin}",
        f"        greedy  {agreement(proof.greedy)}",
        f"        beam 5  {agreement(proof.beam)}",
        f"        as run  {agreement(proof.as_run)}, with its own settings"
        if proof.as_run
        else "        as run  not compared: its own search settings need another runtime",
        f"        every token of the vocabularies, log p within {proof.worst_token:.1g}",
    ]
    if proof.origin == RANDOM:  # the outputs are garbage, and where they differ says nothing
        return found
    of_run = proof.as_run.differences if proof.as_run else []
    if proof.as_run and proof.as_run.same < ALIKE * proof.as_run.sentences:
        found.append("        many differ: score both, with --runtime torch and without, before you use it")
    for difference in [*proof.beam.differences, *of_run][:SHOWN]:
        found.append(f'          torch  {difference.our_score:.5f}  "{difference.ours}"')
        found.append(f'          export {difference.their_score:.5f}  "{difference.theirs}"')
    return found


def answer_lines(proof: AnswerProof) -> list[str]:
    count = max(each.sentences for each in proof.searches.values())
    found = [f"proven  on {count} examples {proof.origin}"]
    found += [f"        {name}  {agreement(each)}" for name, each in proof.searches.items()]
    if proof.worst_token is not None:
        found.append(f"        every token of the vocabulary, log p within {proof.worst_token:.1g}")
    return found


def size_of(path: Path) -> int:
    from dragoman.cli.training_view.summary import folder_size

    return path.stat().st_size if path.is_file() else folder_size(path)


def agreement(found: Agreement) -> str:
    same = f"{found.same} of {found.sentences} outputs are the same, with scores within {found.worst:.1g}"
    if not found.differences:
        return same
    mean = sum(each.their_score - each.our_score for each in found.differences) / len(found.differences)
    return f"{same}; the others score {abs(mean):.2g} {'lower' if mean < 0 else 'higher'} on average"
