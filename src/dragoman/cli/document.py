"""`dragoman run MODEL app.po`: translate a document, keeping its format."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, TextIO

from dragoman.cli.counting import ProgressCount, Total, decoded
from dragoman.cli.flagged import SHOWN, report_flagged
from dragoman.cli.format import plural
from dragoman.cli.options import steering
from dragoman.cli.terminal import LiveLine, give, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.config.search import SearchConfig
    from dragoman.documents.build import Document
    from dragoman.inference.model import Model

MOSTLY_EDITED = 0.5  # mean confidence; a confidence is about the chrF that an output will have


def find(inputs: Sequence[str | Path], args: argparse.Namespace) -> Path | None:
    """Return the PO, XLIFF, TMX or SRT file to translate, if any; refuse options unsupported for these."""
    from dragoman.documents.build import is_document, suffix

    files = [one for one in inputs if isinstance(one, Path) and is_document(one)]
    if not files:
        return None
    requested = {"--nbest": args.nbest is not None, "--trace": args.trace, "--details": args.details}
    if len(inputs) > 1 or any(requested.values()):
        conflict = next((option for option, is_set in requested.items() if is_set), "other input")
        raise UsageError(
            f"{files[0]} is a document: it cannot be combined with {conflict}.",
            where="the command line",
            expected="one document, without --nbest, --trace or --details",
            hint=f"dragoman run {args.model} {files[0]} -o OUT{suffix(files[0])}",
        )
    if args.json and not args.output:
        raise UsageError(
            "With --json, the document needs a file of its own.",
            where="the command line",
            expected="-o FILE; the objects, one for each text, are written to stdout",
            hint=f"dragoman run {args.model} {files[0]} --json -o OUT{suffix(files[0])}",
        )
    return files[0]


def read(inputs: Sequence[str | Path], args: argparse.Namespace) -> Document | None:
    """Read the document before the model, which takes seconds to load, to report errors early."""
    from dragoman.documents.build import read_document
    from dragoman.inference.find_model import find_model
    from dragoman.tasks.load import trained_languages

    file = find(inputs, args)
    if file is None:
        return None
    document = read_document(file, tuple(args.languages) if args.languages else None)
    if not args.languages and (own := trained_languages(find_model(args.model))):
        document.refuse_other_languages(own)
    return document


def run(document: Document, model: Model, search: SearchConfig, args: argparse.Namespace, out: TextIO) -> int:
    """Write the document with its missing translations filled in."""
    from dragoman.documents.slots import Output

    requested, report, live = steering.steering_options(args), steering.SteeringReport(), LiveLine()
    requested["keep"] = steering.kept(args)  # placeholders are preserved with or without --keep
    count = ProgressCount(live, Total(document.texts, document.characters), "unit")
    numbers = itertools.count(1)

    def translate(sources: Sequence[str]) -> list[Output]:
        results = decoded(model, sources, search, count, **requested)
        for result, number in zip(results, numbers, strict=False):
            report.add(number, result)
        return [Output(result.text, result.flags, result.confidence) for result in results]

    confidences = list[float]()

    def told(line: int, source: str, output: Output) -> None:
        if output.confidence is not None:
            confidences.append(output.confidence)
        if args.json:
            fields = {"line": line, "source": source, **output._asdict()}
            give(json.dumps(fields, ensure_ascii=False) + "\n", sys.stdout)

    written = BytesIO() if out.isatty() else out.buffer  # a terminal gets no control characters
    with live:
        filled = document.fill(written, translate, told)
    if isinstance(written, BytesIO):
        give(written.getvalue().decode(), out)
    total = filled.units + filled.before + len(filled.empty) + len(filled.broken)
    talk(f"Translated {filled.units:,} of {plural(total, 'unit')} in {document.file}.")
    if filled.others:
        talk(f"Not counted: {plural(filled.others, 'unit')} without text to translate.")
    for lines, what in (
        (filled.empty, "The output is empty for {}: they are unchanged."),
        (filled.broken, "The output would break the format string of {}: they are unchanged."),
        (filled.detached, "Tags are missing in {}: the output did not keep them around a text."),
    ):
        if lines:
            shown = ", ".join(map(str, lines[:SHOWN])) + (", …" if len(lines) > SHOWN else "")
            talk(what.format(f"{len(lines):,} of them (line {shown})"))
    if confidences and (mean := fmean(confidences)) < MOSTLY_EDITED:
        talk(f"The model is not sure of them (mean confidence {mean:.2f}): expect to edit most.")
    report_flagged(filled.flagged, f"Most doubtful, by the lines of {document.file}:")
    for message in report.lines:
        talk(message)
    return 0
