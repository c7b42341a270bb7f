"""What the verbs share in reading a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_OVERRIDE = re.compile(r"^[a-z_]+(\.[a-z_]+)+=")


def split_overrides(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Positionals → (files and texts, `section.key=value` overrides). What exists on disk is a file."""
    others: list[str] = []
    overrides: list[str] = []
    for argument in arguments:
        is_override = _OVERRIDE.match(argument) is not None and not _exists(argument)
        (overrides if is_override else others).append(argument)
    return others, overrides


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a long text is no file name
        return False
