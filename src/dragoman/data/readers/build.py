"""Which reader for which files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad import BadLine, OnBad, refuse
from dragoman.data.readers.jsonl import read_jsonl
from dragoman.data.readers.lines import read_lines
from dragoman.data.readers.plain import read_plain
from dragoman.data.readers.tsv import read_tsv
from dragoman.errors import DataError


def open_pairs(
    files: Sequence[str | Path], *, on_bad: OnBad | None = None, extra_columns: bool = False
) -> Iterator[Pair]:
    """Two aligned text files, or one .tsv or .jsonl; each may be .gz.

    The first bad line raises its DataError, unless `on_bad` takes it: then it is skipped. What the whole
    file is guilty of (missing, cut off, unequal counts) raises always.
    """
    bad = on_bad or refuse
    paths = [Path(file) for file in files]
    match [form(path) for path in paths]:
        case ["tsv"]:
            return read_tsv(paths[0], bad, extra_columns=extra_columns)
        case ["jsonl"]:
            return read_jsonl(paths[0], bad)
        case ["plain", "plain"]:
            return read_plain(paths[0], paths[1], bad)
        case _:
            raise DataError(
                "These files do not make pairs.",
                where=" ".join(map(str, paths)) or "no file",
                expected="two text files (source, target), or one .tsv or .jsonl file; each may be .gz",
                hint="dragoman check train.en train.de, or dragoman check pairs.tsv",
            )


def open_lines(file: str | Path) -> Iterator[str]:
    """The lines of one text file; the first bad one raises."""
    with closing(read_lines(Path(file))) as lines:
        for line in lines:
            if isinstance(line, BadLine):
                raise line.error
            yield line


def form(path: Path) -> str:
    suffix = text_suffix(path)
    return suffix[1:] if suffix in (".tsv", ".jsonl") else "plain"


def text_suffix(path: Path) -> str:
    """The suffix under a .gz, if there is one."""
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
