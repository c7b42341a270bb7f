"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from pathlib import Path


def closest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)), None)


def did_you_mean(close: object | None) -> str:
    """Return the end of a message: a question, or nothing if there is nothing close."""
    return f" Did you mean {close}?" if close else ""


def closest_path(path: Path, *, is_folder: bool = False) -> Path | None:
    """Return the path in the same folder with the closest name. Raises OSError if the folder is missing."""
    names = [entry.name for entry in path.parent.iterdir() if not is_folder or entry.is_dir()]
    close = closest(path.name, names)
    return path.parent / close if close else None


def missing_file_hint(file: Path) -> str:
    """Return what to do about a file that does not exist."""
    try:
        close = closest_path(file)
    except OSError:
        return f"The folder {file.parent} does not exist either; check the path."
    if close == file:
        return f"It is a link to a file that does not exist: ls -l {shlex.quote(str(file))}"
    return f"Did you mean {close}?" if close else f"List the folder: ls {shlex.quote(str(file.parent))}"
