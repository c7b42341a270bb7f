"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

LISTED = 6  # names in a message


def closest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    return next(iter(difflib.get_close_matches(name, list(names), n=1, cutoff=cutoff)), None)


def did_you_mean(*close: object | None) -> str:
    """Return the end of a message: a question, or nothing if there is nothing close."""
    names = " or ".join(f'"{name}"' for name in close if name)
    return f" Did you mean {names}?" if names else ""


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
    return did_you_mean(close).strip() or files_in(file.parent)


def files_in(folder: Path) -> str:
    """Return a sentence that names the files in a folder."""
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file() and entry.name[0] != ".")
    place = "here" if folder == Path() else f"in {folder}"
    return f"Name one of the files {place}: {some(names)}." if names else f"There are no files {place}."


def some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more:,} more" if more > 0 else "")
