"""Files of pictures and reports, in the format that their name ends in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import UsageError
from dragoman.inspection.pictures.picture import png
from dragoman.inspection.pictures.theme import Theme

Formats = Mapping[str, Callable[[], str | bytes]]  # by suffix


def write_as(file: Path, what: str, formats: Formats) -> None:
    """Write a picture or a report."""
    suffix = file.suffix.lower()
    if suffix not in formats:
        *others, last = formats
        raise UsageError(
            f'A {what} cannot be written as "{file.suffix}".',
            where=str(file),
            expected=f"a name that ends in {', '.join(others)} or {last}",
            hint=f"-o {what}{next(iter(formats))}",
        )
    made = formats[suffix]()
    file.write_bytes(made if isinstance(made, bytes) else made.encode())


def picture_formats(svg: Callable[[], str], html: Callable[[], str], theme: Theme) -> Formats:
    return {".svg": svg, ".png": lambda: png(svg(), theme.page), ".html": html}


def data_format(data: Callable[[], dict[str, Any]]) -> Formats:
    return {".json": lambda: json.dumps(data(), ensure_ascii=False)}
