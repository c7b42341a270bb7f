"""A recipe: a task with settings to train it, a README and, for most, generated data.

What `dragoman new` writes is in the recipe's folder as it is: dragoman.toml, other settings, README.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

HERE = Path(__file__).parent

Splits = Callable[[], Mapping[str, Iterable[tuple[str, str]]]]  # name → its (source, target) pairs


class Recipe(NamedTuple):
    folder: str  # beside this file
    about: str  # one line for the list of recipes
    splits: Splits | None = None  # None: it needs --data
    # txt: one side only, the target; conll: a word and its tag per line
    form: Literal["tsv", "txt", "conll"] = "tsv"
    lesson: tuple[str, ...] = ()  # models to compare, in order; each has its settings
    write_source: Callable[[Path, str], None] | None = None  # of sources that are files: the file of a target

    @property
    def texts(self) -> dict[str, str]:
        """The text of each settings file, and of the README."""
        files = [*sorted((HERE / self.folder).glob("*.toml")), HERE / self.folder / "README.md"]
        return {file.name: file.read_text(encoding="utf-8") for file in files}
