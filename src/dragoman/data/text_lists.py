"""Corpora given as lists of texts, which become two aligned files: all that reads a corpus reads files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TypeGuard

from dragoman.arguments import texts_of, wrong_type
from dragoman.durable import make_parents, write_file
from dragoman.errors import UsageError
from dragoman.text.tokenizer import utf8

Texts = list[str] | tuple[str, ...]


def are_texts(given: Sequence[object]) -> TypeGuard[Sequence[Texts]]:
    """Return whether these are lists of texts, and not paths."""
    return any(isinstance(one, list | tuple) for one in given)


def write_texts(sides: Sequence[Texts], folder: Path, name: str) -> list[Path]:
    """Write sources and targets to `folder`. File names depend on the content: no other file is replaced."""
    if len(sides) != 2 or not all(isinstance(side, list | tuple) for side in sides):
        hint = "(sources, targets); of a list of pairs: *zip(*pairs)"
        raise wrong_type(name, sides, "two lists of texts, sources and targets", hint)
    if len(sides[0]) != len(sides[1]):
        raise UsageError(
            "There are not as many targets as sources.",
            where=f"{name}: {len(sides[0]):,} sources, {len(sides[1]):,} targets",
            expected="a target for each source",
            hint="The target of sources[n] is targets[n].",
        )
    contents = ["".join(map(as_line, texts_of(side), count())) for side in sides]
    digest = hashlib.sha256(utf8("\n".join(contents))).hexdigest()[:12]
    files = [folder / f"{name}-{digest}.{side}" for side in ("src", "tgt")]
    make_parents(files[0])
    for file, content in zip(files, contents, strict=True):
        if not file.exists():
            write_file(file, content)
    return files


def as_line(text: str, index: int) -> str:
    if "\n" in text:
        raise wrong_type(f"texts[{index}]", text, "a text without line breaks", 'text.replace("\\n", " ")')
    return text + ("\r\n" if text.endswith("\r") else "\n")  # readers drop one "\r" before "\n"
