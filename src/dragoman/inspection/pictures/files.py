"""Files of pictures and reports, in the format that their name ends in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import UsageError
from dragoman.inspection.pictures.picture import png
from dragoman.inspection.pictures.theme import Theme

Formats = Mapping[str, Callable[[], str | bytes]]  # by suffix


def write_as(file: Path, what: str, formats: Formats) -> None:
    """Write a picture or a report."""
    refuse_other_suffix(file, what, formats)
    refuse_missing_folder(file)
    made = formats[file.suffix.lower()]()
    file.write_bytes(made if isinstance(made, bytes) else made.encode())


def refuse_other_suffix(file: Path, what: str, suffixes: Iterable[str]) -> None:
    first, *others = suffixes
    if file.suffix.lower() not in (first, *others):
        raise UsageError(
            f'A {what} cannot be written as "{file.suffix}".',
            where=str(file),
            expected=f"a name that ends in {', '.join([first, *others[:-1]])} or {others[-1]}",
            hint=f"-o {what}{first}",
        )


def refuse_missing_folder(file: Path) -> None:
    if not file.parent.is_dir():
        raise UsageError(
            f"There is no folder {file.parent}.",
            where=str(file),
            expected="a file in a folder that exists",
            hint=f"Create it: mkdir -p {shlex.quote(str(file.parent))}",
        )


def picture_formats(svg: Callable[[], str], html: Callable[[], str], theme: Theme) -> Formats:
    return {".svg": svg, ".png": lambda: png(svg(), theme.page), ".html": html}


def data_format(data: Callable[[], dict[str, Any]]) -> Formats:
    return {".json": lambda: json.dumps(data(), ensure_ascii=False)}
