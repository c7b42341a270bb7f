"""Which two of the languages or columns of a file are the source and the target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from dragoman.errors import DataError

Languages = tuple[str, str]  # source, target, as "en" or "pt-BR"

# Codes that head a column without more words; short words of other data are seldom two of these.
CODES = (
    "ar bg bn ca cs da de el en eo es et eu fa fi fr ga gl he hi hr hu hy id it ja ka kk ko lt lv mk mr ms "
    "nb nl nn pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh"
)
KNOWN = frozenset(CODES.split())
REGION = re.compile(r"[a-z]{2,3}-[a-z0-9]{2,8}")  # "pt-br"
SOURCES = frozenset({"source", "src", "source text", "original"})
TARGETS = frozenset({"target", "tgt", "trg", "target text", "translation"})


def code(name: str) -> str:
    """As languages are compared: "en_US" is "en-us"."""
    return name.strip().lower().replace("_", "-")


def speaks(name: str, wanted: str) -> bool:
    """Whether this is the language wanted; "en" takes any English."""
    mine, theirs = code(name), code(wanted)
    return mine == theirs or mine.startswith(theirs + "-")


@lru_cache(1024)  # a memory has the same languages in each of a million units
def place_of(names: tuple[str, ...], wanted: str) -> int | None:
    """The first that is just that language, or else one of its kind, or else that of which it is one."""
    exact = [code(name) == code(wanted) for name in names]
    kind = [speaks(name, wanted) for name in names]
    parent = [bool(name) and speaks(wanted, name) for name in names]
    return next((fits.index(True) for fits in (exact, kind, parent) if True in fits), None)


def is_heading(cells: Sequence[str], wanted: Languages | None) -> bool:
    """Whether a row names its columns: as those that are wanted, or source and target, or as languages."""
    if wanted:
        return all(place_of(tuple(cells), name) is not None for name in wanted)
    names = [code(cell) for cell in cells]
    if SOURCES.intersection(names) and TARGETS.intersection(names):
        return True
    if not len(set(names)) == len(names) >= 2:
        return False
    return all(name in KNOWN or REGION.fullmatch(name) is not None for name in names)


def columns_of(file: Path, names: Sequence[str], wanted: Languages | None) -> tuple[int, int]:
    """Where the source and the target stand in rows with this heading."""
    if wanted:
        places = [place_of(tuple(names), name) for name in wanted]
    elif len(names) == 2:
        places = [0, 1] if code(names[0]) not in TARGETS else [1, 0]
    else:
        known = [code(name) for name in names]
        places = [
            next((n for n, name in enumerate(known) if name in kind), None) for kind in (SOURCES, TARGETS)
        ]
    src, tgt = places
    if src is None or tgt is None or src == tgt:
        raise which(file, names, wanted)
    return src, tgt


def which(file: Path, names: Sequence[str], wanted: Languages | None) -> DataError:
    shown = ", ".join(name[:20] for name in names[:12])
    missing = (
        f"There is no {' and '.join(wanted)} in this file"
        if wanted
        else f"This file has {'more' if len(names) > 2 else 'fewer'} than two languages"
    )
    two = " ".join([name for name in names if name][:2]) or "en de"
    return DataError(
        f"{missing}: {shown}.",
        where=str(file),
        expected="the names of two of them",
        hint=f"Say which is the source and which the target: --languages {two}",
    )
