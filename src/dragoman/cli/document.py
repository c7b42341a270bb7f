"""`dragoman run MODEL app.po`: a document in, the same document with translations out."""

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


def find(given: Sequence[str | Path], args: argparse.Namespace) -> Path | None:
    """The PO, XLIFF, TMX or SRT that is to be translated, and what cannot be asked of one."""
    from dragoman.documents.build import is_document

    files = [one for one in given if isinstance(one, Path) and is_document(one)]
    if not files:
        return None
    asked = {"--json": args.json, "--nbest": args.nbest is not None, "--trace": args.trace}
    if len(given) > 1 or any(asked.values()):
        unfit = next((option for option, is_asked in asked.items() if is_asked), "something else")
        raise UsageError(
            f"{files[0]} is a document: it is translated alone, and not with {unfit}.",
            where="the command line",
            expected="a document in, the same document with translations out",
            hint=f"dragoman run {args.model} {files[0]} -o OUT{files[0].suffix}",
        )
    return files[0]


def read(given: Sequence[str | Path], args: argparse.Namespace) -> Document | None:
    """Before the model, which takes seconds to load: what is wrong with a document is said at once."""
    from dragoman.documents.build import read_document

    file = find(given, args)
    return read_document(file, tuple(args.languages) if args.languages else None) if file else None


def run(document: Document, model: Model, search: SearchConfig, args: argparse.Namespace, out: TextIO) -> int:
    """The document with translations where it had none, in the same form."""
    asked, report, live = steering.steering_options(args), steering.SteeringReport(), LiveLine()
    flagged: dict[int, tuple[str, ...]] = {}

    def translate(sources: Sequence[str]) -> list[str]:
        """Things to keep are kept, asked or not."""
        count = ProgressCount(live, total_of(sources), "unit")
        results = decoded(model, sources, search, count, **{**asked, "keep": steering.kept(args)})
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
        talk(f"Nothing came out for {len(filled.empty):,} of them (line {lines}): they are as they were.")
    report_flagged(flagged, "unit")
    for said in report.lines:
        talk(said)
    return 0
