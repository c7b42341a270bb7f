"""The parts of one kind by name: ours by import path, others by `register` or by an entry point.

A name costs no import until it is asked for. An entry point is looked for only where a name is not ours, so a
package can add names but never replace one:

    [project.entry-points."dragoman.encoders"]
    reader = "my_package.settings:ReaderPart"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, cast

from dragoman.errors import UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    def __init__(self, group: str, ours: Mapping[str, str]) -> None:
        """Initialise with the group of the entry points and the place of each of ours, `module:name`."""
        self.group = f"dragoman.{group}"
        self.ours = dict(ours)
        self.found: dict[str, T] = {}

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            name in self.ours or name in self.found or bool(self.installed(name))
        )

    def __getitem__(self, name: str) -> T:
        if name not in self.found:
            places = [self.ours[name]] if name in self.ours else self.installed(name)
            if not places:
                raise KeyError(name)
            module, _, part = places[0].partition(":")
            self.found[name] = cast("T", getattr(import_module(module), part))
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of ours and of those that were registered or asked for."""
        return iter(dict.fromkeys([*self.ours, *self.found]))

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds a part under a name that is not ours."""
        if name in self.ours:
            raise UsageError(
                f'"{name}" is a name of Dragoman\'s own.',
                where=self.group,
                expected="another name",
                hint=f"Register it as my-{name}.",
            )

        def add(part: T) -> T:
            self.found[name] = part
            return part

        return add

    def installed(self, name: str) -> list[str]:
        """Return where packages that are installed have a part of this name."""
        return [point.value for point in entry_points(group=self.group, name=name)]

    def values(self) -> list[Any]:
        return [self[name] for name in self]
