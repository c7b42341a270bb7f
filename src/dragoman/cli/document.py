"""`dragoman run MODEL app.po`: translate a document, keeping its format."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from dragoman.cli.counting import ProgressCount, decoded, total_of
from dragoman.cli.flagged import SHOWN, report_flagged
from dragoman.cli.format import plural
from dragoman.cli.options import steering
from dragoman.cli.terminal import LiveLine, talk
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.config.search import SearchConfig
    from dragoman.documents.build import Document
    from dragoman.inference.model import Model


def find(inputs: Sequence[str | Path], args: argparse.Namespace) -> Path | None:
    """Return the PO, XLIFF, TMX or SRT file to translate, if any; refuse options unsupported for these."""
    from dragoman.documents.build import is_document, suffix

    files = [one for one in inputs if isinstance(one, Path) and is_document(one)]
    if not files:
        return None
    requested = {"--json": args.json, "--nbest": args.nbest is not None, "--trace": args.trace}
    if len(inputs) > 1 or any(requested.values()):
        conflict = next((option for option, is_set in requested.items() if is_set), "other input")
        raise UsageError(
            f"{files[0]} is a document: it cannot be combined with {conflict}.",
            where="the command line",
            expected="one document, without --json, --nbest or --trace",
            hint=f"dragoman run {args.model} {files[0]} -o OUT{suffix(files[0])}",
        )
    return files[0]


def read(inputs: Sequence[str | Path], args: argparse.Namespace) -> Document | None:
    """Read the document before the model, which takes seconds to load, to report errors early."""
    from dragoman.documents.build import read_document

    file = find(inputs, args)
    return read_document(file, tuple(args.languages) if args.languages else None) if file else None


def run(document: Document, model: Model, search: SearchConfig, args: argparse.Namespace, out: TextIO) -> int:
    """Write the document with its missing translations filled in."""
    requested, report, live = steering.steering_options(args), steering.SteeringReport(), LiveLine()
    flagged: dict[int, tuple[str, ...]] = {}

    def translate(sources: Sequence[str]) -> list[str]:
        """Translate; placeholders are preserved with or without --keep."""
        count = ProgressCount(live, total_of(sources), "unit")
        results = decoded(model, sources, search, count, **{**requested, "keep": steering.kept(args)})
        for unit, result in enumerate(results, start=1):
            report.add(unit, result)
            if result.flags:
                flagged[unit] = result.flags
        return [result.text for result in results]

    with live:
        filled = document.filled(translate)
    out.buffer.write(filled.document)
    total = filled.units + filled.before + len(filled.empty)
    talk(f"Translated {filled.units:,} of {plural(total, 'unit')} in {document.file}.")
    if filled.empty:
        lines = ", ".join(map(str, filled.empty[:SHOWN]))
        talk(f"The output is empty for {len(filled.empty):,} of them (line {lines}): they are unchanged.")
    if filled.detached:
        lines = ", ".join(map(str, filled.detached[:SHOWN]))
        talk(
            f"Tags are left out of {plural(len(filled.detached), 'unit')} (line {lines}): the output did not "
            "have them around a text."
        )
    report_flagged(flagged, "unit")
    for message in report.lines:
        talk(message)
    return 0
