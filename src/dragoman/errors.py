"""Errors shown to users. Each says what happened, where, what was expected and how to fix it.

DragomanError
├── UsageError         the command line or a setting is wrong                 exit 2
│   └── ConfigError    a settings file or an override                         exit 2
├── DataError          a corpus, a line, an encoding                          exit 3
├── ModelError         a model folder that is damaged, unknown or too new     exit 1
├── CheckpointError    a training state that cannot be written or read        exit 1
├── TrainingError      a run that cannot continue (NaN, out of memory)        exit 1
└── MissingExtra       an optional package that is not installed              exit 2
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DragomanError(Exception):
    exit_code = 1

    def __init__(self, what: str, *, where: str = "", expected: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append(f"  where     {self.where}")
        if self.expected:
            parts.append(f"  expected  {self.expected}")
        if self.hint:
            parts.append(f"  fix       {self.hint}")
        return "\n".join(parts)


class UsageError(DragomanError):
    exit_code = 2


class ConfigError(UsageError):
    pass


class DataError(DragomanError):
    exit_code = 3


class ModelError(DragomanError):
    pass


class CheckpointError(DragomanError):
    pass


class TrainingError(DragomanError):
    pass


class MissingExtra(DragomanError):
    exit_code = 2


@contextmanager
def needs_extra(what: str, extra: str, *packages: str) -> Iterator[None]:
    """Report a package that is not installed, or only one of `packages` if given, as a MissingExtra."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "dragoman" or (packages and name not in packages):
            raise
        raise MissingExtra(what, where=str(error), hint=f'pip install "dragoman[{extra}]"') from None
