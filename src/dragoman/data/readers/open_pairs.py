"""Selection of the reader for files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from dragoman.data.pair import Pair
from dragoman.data.readers.arrow import read_arrow
from dragoman.data.readers.bad_line import BadLine, OnBad, refuse
from dragoman.data.readers.csv import read_csv
from dragoman.data.readers.jsonl import read_jsonl
from dragoman.data.readers.lines import read_lines
from dragoman.data.readers.plain import read_plain
from dragoman.data.readers.tsv import read_tsv
from dragoman.errors import DataError
from dragoman.text.languages import Languages, are_different

FORMS = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".po": "po",
    ".parquet": "arrow",
    ".arrow": "arrow",
}
# What reads pairs of them lies with what fills them in, above this package (pyproject.toml).
DOCUMENTS = {
    "tmx": "dragoman.documents.tmx",
    "xliff": "dragoman.documents.xliff",
    "po": "dragoman.documents.po",
}


class Format(Protocol):
    """A module that reads pairs."""

    def read(self, file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]: ...


def open_pairs(
    files: Sequence[str | Path],
    *,
    on_bad: OnBad | None = None,
    languages: Languages | None = None,
    extra_columns: bool = False,
) -> Iterator[Pair]:
    """Yield the pairs of two aligned text files, or of one file with both sides; each may be .gz.

    `languages` are the source and target languages, for files with several or in the other direction.
    The first bad line raises its DataError, unless there is an `on_bad`: then it is skipped. Faults of the
    whole file (missing, truncated, unequal numbers of lines) always raise.
    """
    bad = on_bad or refuse
    paths = [Path(file) for file in files]
    match [form(path) for path in paths]:
        case ["tsv"]:
            return read_tsv(paths[0], bad, languages, extra_columns=extra_columns)
        case ["csv"]:
            return read_csv(paths[0], bad, languages)
        case ["jsonl"]:
            return read_jsonl(paths[0], bad, languages)
        case ["arrow"]:
            return read_arrow(paths[0], bad, languages)
        case [kind] if kind in DOCUMENTS:
            return format_of(kind).read(paths[0], bad, languages)
        case ["plain", "plain"]:
            return read_plain(paths[0], paths[1], bad)
        case _:
            raise DataError(
                "These files do not form pairs.",
                where=" ".join(map(str, paths)) or "no file",
                expected=f"two text files (source, target), or one of {', '.join(FORMS)}; each may be .gz",
                hint="dragoman check train.en train.de, or dragoman check pairs.tsv",
            )


def format_of(kind: str) -> Format:
    return cast("Format", import_module(DOCUMENTS[kind]))


def languages_in(file: Path) -> Languages | None:
    """Return the languages that a document names at its beginning; "" for the source of a catalogue."""
    if form(file) not in ("tmx", "xliff", "po"):
        return None
    return cast("Languages | None", import_module(DOCUMENTS[form(file)]).languages_in(file))


def corpora_of(files: Sequence[str]) -> list[list[str]]:
    """Return the corpora that files form: each of its own if all have both sides, or one of all."""
    have_both = all(form(Path(file)) != "plain" for file in files)
    return [[file] for file in files] if have_both else [list(files)]


def refuse_mixed(files: Sequence[str]) -> None:
    """Raise if documents have translations into several languages: a model would learn to mix them."""
    named = [(file, found[1]) for file in files if (found := languages_in(Path(file)))]
    for file, tgt in named[1:]:
        first, wanted = named[0]
        if are_different(tgt, wanted):
            raise DataError(
                f"These files are in different languages: {wanted} and {tgt}.",
                where=f"{first}, {file}",
                expected="translations into one language",
                hint="Train a model for each, or name both in data.train of a settings file.",
            )


def open_lines(file: str | Path) -> Iterator[str]:
    """Yield the lines of a text file. The first bad line raises."""
    with closing(read_lines(Path(file))) as lines:
        for line in lines:
            if isinstance(line, BadLine):
                raise line.error
            yield line


def is_text(files: Sequence[str | Path]) -> bool:
    """Return whether this is one plain file, which has one side only."""
    return len(files) == 1 and form(Path(files[0])) == "plain"


def form(path: Path) -> str:
    return FORMS.get(text_suffix(path).lower(), "plain")


def text_suffix(path: Path) -> str:
    """Return the suffix, ignoring .gz."""
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
