"""A recipe: a task that makes its own data, with the settings that learn it and a page that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Recipe(NamedTuple):
    about: str  # one line for the list
    settings: str  # dragoman.toml
    readme: str  # README.md
    splits: Callable[
        [], Mapping[str, Iterable[tuple[str, str]]]
    ]  # name of the split → its (source, target) pairs
    lesson: Mapping[str, str] = {}  # models to compare, in order: name → its settings
