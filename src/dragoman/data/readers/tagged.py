"""Readers of tagged and labelled text: columns with a word per line, and aligned files.

A pair of tagged text is its words and as many tags, each joined by single spaces. With a label of the whole
line, its target is @label and the tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import BadLine, OnBad, bad_line, refuse
from dragoman.data.readers.lines import read_lines
from dragoman.data.readers.open_pairs import open_pairs, text_suffix
from dragoman.data.readers.plain import read_plain
from dragoman.errors import DataError
from dragoman.text.languages import Languages
from dragoman.text.running_words import words_of

COLUMNS = {".tsv": (1, 2), ".conll": (1, 2), ".conllu": (2, 4)}  # of words and tags, if none are named
LABEL = "@"
NO_BREAK = "\N{NO-BREAK SPACE}"


def read_tagged(
    files: Sequence[str], on_bad: OnBad | None = None, columns: Languages | None = None
) -> Iterator[Pair]:
    """Yield words and tags: of one file with a word per line, or of aligned files of words and tags.

    A third aligned file has a label for each line.
    """
    bad, paths = on_bad or refuse, [Path(file) for file in files]
    if len(paths) == 1 and text_suffix(paths[0]) in COLUMNS:
        return read_columns(paths[0], bad, numbers(columns) or COLUMNS[text_suffix(paths[0])])
    if not any(text_suffix(path) in COLUMNS for path in paths):
        match paths:
            case [words, tags]:
                return in_step(words, read_plain(words, tags, bad), False, bad)
            case [words, tags, labels]:
                return in_step(words, with_labels(words, tags, labels, bad), True, bad)
    raise DataError(
        "These files are not tagged text.",
        where=" ".join(files),
        expected="one .tsv, .conll or .conllu file with a word per line, or two or three text files: words, "
        "tags and labels",
        hint="dragoman train train.words train.tags task=tag",
    )


def read_labelled(
    files: Sequence[str], on_bad: OnBad | None = None, columns: Languages | None = None
) -> Iterator[Pair]:
    """Yield texts and labels: of two columns, in the order that `columns` says, or of two files."""
    chosen = numbers(columns)
    if chosen and len(files) == 1:
        pairs = read_chosen(Path(files[0]), on_bad or refuse, chosen)
    else:
        pairs = open_pairs(files, on_bad=on_bad, languages=columns)
    return (pair._replace(tgt=pair.tgt.strip()) for pair in pairs)


def read_labelled_words(
    files: Sequence[str], on_bad: OnBad | None = None, columns: Languages | None = None
) -> Iterator[Pair]:
    """Yield texts and labels as `read_labelled` does, with one space between words."""
    return (pair._replace(src=" ".join(words_of(pair.src))) for pair in read_labelled(files, on_bad, columns))


def numbers(columns: Languages | None) -> tuple[int, int] | None:
    """Return columns that are given by their numbers, from 1."""
    if columns and all(column.isdecimal() and int(column) for column in columns):
        return int(columns[0]), int(columns[1])
    return None


def read_chosen(file: Path, on_bad: OnBad, columns: tuple[int, int]) -> Iterator[Pair]:
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            cells = line if isinstance(line, BadLine) else cells_of(file, number, line, columns)
            if isinstance(cells, BadLine):
                on_bad(cells)
            else:
                yield Pair(cells[0], cells[1], number)


def read_columns(file: Path, on_bad: OnBad, columns: tuple[int, int]) -> Iterator[Pair]:
    """Yield the sentences of a file with a word per line, and a blank line after each sentence."""
    is_conllu = text_suffix(file) == ".conllu"
    words: list[tuple[str, str]] = []
    first = 1
    with closing(read_lines(file)) as lines:
        for number, line in enumerate(lines, start=1):
            if isinstance(line, str) and not line.strip():
                if words:
                    yield sentence(words, first)
                words, first = [], number + 1
            elif isinstance(line, str) and is_conllu and is_no_word(line):
                continue
            else:
                cells = line if isinstance(line, BadLine) else cells_of(file, number, line, columns)
                if isinstance(cells, BadLine):
                    on_bad(cells)
                else:
                    words.append(cells)
    if words:
        yield sentence(words, first)


def is_no_word(line: str) -> bool:
    """Return whether a line of CoNLL-U is a comment, a range of words or an empty node."""
    return line.startswith("#") or not line.partition("\t")[0].isdecimal()


def sentence(words: Sequence[tuple[str, str]], line: int) -> Pair:
    # A form may contain a space, which would be two words.
    sides = zip(*words, strict=True)
    forms, tags = (" ".join(cell.strip().replace(" ", NO_BREAK) for cell in side) for side in sides)
    return Pair(forms, tags, line)


def cells_of(file: Path, number: int, line: str, columns: tuple[int, int]) -> tuple[str, str] | BadLine:
    cells = line.split("\t")
    if len(cells) >= max(columns) and all(cells[column - 1].strip() for column in columns):
        return cells[columns[0] - 1], cells[columns[1] - 1]
    return bad_line(
        "columns",
        file,
        number,
        f"Column {columns[0]} or {columns[1]} is missing or empty.",
        expected="columns separated by tabs",
        hint="Name the columns of the text and of the answer by their numbers: --languages 1 2",
    )


def with_labels(words: Path, tags: Path, labels: Path, on_bad: OnBad) -> Iterator[Pair]:
    """Yield the words, and the label and the tags, of three aligned files."""
    for pair, labelled in zip(
        read_plain(words, tags, on_bad), read_plain(words, labels, on_bad), strict=False
    ):
        yield Pair(pair.src, f"{LABEL}{'_'.join(words_of(labelled.tgt))} {pair.tgt}", pair.line)


def in_step(file: Path, pairs: Iterator[Pair], has_label: bool, on_bad: OnBad) -> Iterator[Pair]:
    """Yield pairs with one tag per word; others are bad lines."""
    for pair in pairs:
        words, tags = words_of(pair.src), words_of(pair.tgt)
        count = len(tags) - has_label
        if len(words) == count:
            yield Pair(" ".join(words), " ".join(tags), pair.line)
            continue
        what = f"This line has {len(words):,} words and {count:,} tags."
        hint = "Write one tag for each word, separated by spaces."
        on_bad(bad_line("columns", file, pair.line, what, expected="one tag for each word", hint=hint))
