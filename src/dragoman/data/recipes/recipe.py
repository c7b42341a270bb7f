"""A recipe: a task with generated data, the settings to train it and a README."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Recipe(NamedTuple):
    about: str  # one line for the list of recipes
    settings: str  # dragoman.toml
    readme: str  # README.md
    splits: Callable[[], Mapping[str, Iterable[tuple[str, str]]]]  # name → its (source, target) pairs
    lesson: Mapping[str, str] = {}  # models to compare, in order: name → its settings
