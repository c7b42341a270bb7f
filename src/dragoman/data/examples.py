"""How the files of a task become examples. An example of any task is a Pair: what is read, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from dragoman.data.holdout import Targets
from dragoman.data.pair import Pair, blocks
from dragoman.data.prepare import BlockCutter, Encode, FileFilter, LineFilter, PairFilter, Skip
from dragoman.data.readers.bad_line import OnBad, refuse
from dragoman.data.readers.open_pairs import is_text, open_pairs
from dragoman.data.readers.text import read_text
from dragoman.data.signals.corpus import BLOCK_FILES, FrameFile, Signals, read_listed
from dragoman.errors import DataError
from dragoman.losses.ctc_frames import FrameCount, frames_needed
from dragoman.text.languages import Languages
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.spelled import lengths

TokenIds = tuple[list[int], list[int]]  # of a pair
# What `check` compares the two sides as.
Sides = Literal["translations", "signals", "texts", "tags", "labels"]

# Files, what to do with a bad line, and the languages or columns of both sides → examples.
Reader = Callable[[Sequence[str], OnBad | None, Languages | None], Iterator[Pair]]


def read_pairs(
    files: Sequence[str], on_bad: OnBad | None = None, languages: Languages | None = None
) -> Iterator[Pair]:
    return open_pairs(files, on_bad=on_bad, languages=languages)


def read_lines_or_pairs(
    files: Sequence[str], on_bad: OnBad | None = None, languages: Languages | None = None
) -> Iterator[Pair]:
    if is_text(files):
        return read_text(Path(files[0]), on_bad or refuse)
    return open_pairs(files, on_bad=on_bad, languages=languages)


@dataclass(frozen=True)
class Examples:
    """The reader of a task, how its examples become rows, and what is checked about their sides."""

    read: Reader = read_pairs
    frames: FrameCount | None = None  # of CTC, whose targets must fit into them
    sides: Sides = "translations"
    targets: Targets = "texts"

    def inspect(
        self, files: Sequence[str], on_bad: OnBad | None = None, languages: Languages | None = None
    ) -> Iterator[Pair]:
        """Yield the examples as `read` does, after all that they need to be trained on was read."""
        return self.read(files, on_bad, languages)

    def encode(self, longest: int, skip: Skip | None) -> Encode:
        """Return how examples become rows of the token store."""
        return PairFilter(longest, skip, self.frames, has_tags=self.targets == "tags")

    def validation_rows(
        self, pairs: Sequence[Pair], text: TokenizerPair, longest: int, on_bad: OnBad = refuse
    ) -> list[tuple[Pair, TokenIds]]:
        """Return the usable examples with their ids: no side is empty or too long, and targets fit."""
        ids = []
        for pair in pairs:
            try:
                ids.append((text.src.encode(pair.src), text.tgt.encode(pair.tgt)))
            except DataError as error:  # of a label that is not known
                error.where = error.where or f"line {pair.line:,} of the validation data"
                raise
        return self.usable(pairs, ids, lengths([src for src, _ in ids], text.src.kind), longest, longest)

    def usable(
        self,
        pairs: Sequence[Pair],
        rows: Sequence[TokenIds],
        src_lengths: Sequence[int],
        longest_source: int,
        longest: int,
    ) -> list[tuple[Pair, TokenIds]]:
        return [
            (pair, (src, tgt))
            for pair, (src, tgt), length in zip(pairs, rows, src_lengths, strict=True)
            if 0 < length <= longest_source
            and 0 < len(tgt) <= longest
            and (self.frames is None or frames_needed(tgt) <= self.frames(len(src)))
        ]


@dataclass(frozen=True)
class Files(Examples):
    """Sources that are pictures, sounds or series of numbers, given by their paths."""

    signals: Signals = field(kw_only=True)
    read: Reader = read_listed
    sides: Sides = "signals"

    def inspect(
        self, files: Sequence[str], on_bad: OnBad | None = None, languages: Languages | None = None
    ) -> Iterator[Pair]:
        signals, report = self.signals._replace(listed_in=files[0]), on_bad or refuse
        for block in blocks(self.read(files, on_bad, languages), BLOCK_FILES):
            good, _, bad = signals.read(block)
            for one in bad:
                report(one)
            yield from good

    def encode(self, longest: int, skip: Skip | None) -> Encode:
        return FileFilter(longest, skip, self.signals, self.frames)

    def validation_rows(
        self, pairs: Sequence[Pair], text: TokenizerPair, longest: int, on_bad: OnBad = refuse
    ) -> list[tuple[Pair, TokenIds]]:
        signals = self.signals._replace(listed_in="the validation data")
        home = FrameFile()
        found = list[tuple[Pair, TokenIds]]()
        for block in blocks(iter(pairs), BLOCK_FILES):
            good, frames, bad = signals.read(block)
            for one in bad:
                on_bad(one)
            rows = [
                (home.add(row), text.tgt.encode(pair.tgt)) for row, pair in zip(frames, good, strict=True)
            ]
            known, counts = cast(list[TokenIds], rows), [*map(len, frames)]
            found += self.usable(good, known, counts, signals.max_frames, longest)
        return found


@dataclass(frozen=True)
class Lines(Examples):
    """Examples without a source: the lines of a text, or the target side of pairs."""

    read: Reader = read_lines_or_pairs
    sides: Sides = "texts"

    def encode(self, longest: int, skip: Skip | None) -> Encode:
        return LineFilter(longest, skip)


@dataclass(frozen=True)
class RunningText(Examples):
    """Running text, cut into blocks of `size` tokens."""

    size: int = 256
    read: Reader = read_lines_or_pairs
    sides: Sides = "texts"

    def encode(self, longest: int, skip: Skip | None) -> Encode:
        return BlockCutter(self.size)

    def validation_rows(
        self, pairs: Sequence[Pair], text: TokenizerPair, longest: int, on_bad: OnBad = refuse
    ) -> list[tuple[Pair, TokenIds]]:
        rows = [row.tolist() for _, row in BlockCutter(self.size)(pairs, text).ids]
        return [(Pair("", text.tgt.decode(row), 1), ([], row)) for row in rows]


PAIRS = Examples()
