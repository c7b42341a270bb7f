"""Preparation of a shard of a token store: threads encode some blocks while others are read and written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dragoman.data.fitting import without_unfit
from dragoman.data.gc_pause import gc_paused
from dragoman.data.pair import BLOCK_PAIRS, Pair, blocks
from dragoman.data.pieces import Piece, read_piece
from dragoman.data.readers.bad_line import BadLine, Skipped
from dragoman.data.signals.corpus import BLOCK_FILES, FrameArray, Signals
from dragoman.data.store.layout import Frames
from dragoman.data.store.writer import ShardFacts, new_shard, read_shard
from dragoman.errors import DataError
from dragoman.losses.ctc_frames import FrameCount
from dragoman.spelling import closest, did_you_mean
from dragoman.text.build import load as load_text
from dragoman.text.specials import SPECIALS, UNK
from dragoman.text.tokenizer import Ids, Tokenizer
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.spelled import lengths

THREADS = 2  # one encodes while the other converts its ids; SentencePiece has its own threads
AHEAD = 3  # blocks read but not yet written
COUNTS = ("read", "skipped", "empty", "too_long", "kept")  # what becomes of pairs

PART_LINES = 64  # of running text that are encoded together: a sub-word model takes each for a line

Skip = Callable[[Pair], bool]


class Encoded(NamedTuple):
    """An encoded block: the ids of the pairs that are kept, and the counts of all."""

    ids: list[tuple[Ids | FrameArray, Ids]]
    counts: dict[str, int]
    size: int  # bytes of its text in plain files, including line ends
    bad: Sequence[BadLine] = ()  # sources that cannot be read


@runtime_checkable
class Encode(Protocol):
    """How examples become rows of a store. It is pickled, for other processes."""

    @property
    def max_length(self) -> int:
        """The maximum number of tokens of a side."""

    def __call__(self, block: Sequence[Pair], text: TokenizerPair) -> Encoded: ...


class PairFilter(NamedTuple):
    """Rows of both sides, of the pairs to keep."""

    max_length: int  # tokens per side
    skip: Skip | None = None  # whether a pair is held out
    frames: FrameCount | None = None  # of CTC, whose targets must fit into them
    has_tags: bool = False  # whether targets are tags, of which the vocabulary must have every one
    listed_in: str = ""  # the file of the targets, for messages

    def __call__(self, block: Sequence[Pair], text: TokenizerPair) -> Encoded:
        shown = [pair for pair in block if not self.skip(pair)] if self.skip else block
        src_ids = text.src.encode_batch([pair.src for pair in shown])
        tgt_ids = text.tgt.encode_batch([pair.tgt for pair in shown])
        if self.has_tags:
            refuse_unknown_tags(shown, tgt_ids, text.tgt, self.listed_in)
        rows = list(zip(src_ids, tgt_ids, strict=True))
        return fitted(block, shown, rows, self, kind=text.src.kind)


def refuse_unknown_tags(pairs: Sequence[Pair], rows: Sequence[Ids], text: Tokenizer, file: str) -> None:
    """Raise DataError for a tag that is not in the vocabulary: it would be trained as <unk>."""
    for pair, row in zip(pairs, rows, strict=True):
        if UNK in row:
            tag = pair.tgt.split(" ")[row.tolist().index(UNK)]
            known = [text.piece(id) for id in range(len(SPECIALS), text.size) if text.piece(id)]
            raise DataError(
                f'The tag "{tag[:60]}" is not in the vocabulary.' + did_you_mean(closest(tag, known)),
                where=f"{file}:{pair.line}",
                expected=f"one of its {len(known)} tags: {', '.join(known[:5])}{' …' if known[5:] else ''}",
                hint="A model keeps its tags: with --from, remove these lines, or train a new model. For a "
                "new one, raise text.tgt.size or text.sample_lines.",
            )


class FileFilter(NamedTuple):
    """Rows of the frames of sources that are files, and of the target."""

    max_length: int
    skip: Skip | None
    signals: Signals
    frames: FrameCount | None = None

    @property
    def listed_in(self) -> str:
        return self.signals.listed_in

    def __call__(self, block: Sequence[Pair], text: TokenizerPair) -> Encoded:
        shown = [pair for pair in block if not self.skip(pair)] if self.skip else block
        good, frames, bad = self.signals.read(shown)
        lines = {one.line for one in bad}
        rows = list(zip(frames, text.tgt.encode_batch([pair.tgt for pair in good]), strict=True))
        found = fitted([p for p in block if p.line not in lines], good, rows, self, self.signals.max_frames)
        return found._replace(bad=[*bad, *found.bad])


class LineFilter(NamedTuple):
    """Rows of the target only, for examples without a source."""

    max_length: int
    skip: Skip | None = None

    def __call__(self, block: Sequence[Pair], text: TokenizerPair) -> Encoded:
        shown = [pair for pair in block if not self.skip(pair)] if self.skip else block
        ids = text.tgt.encode_batch([pair.tgt for pair in shown])
        found = kept(block, [(row, row) for row in ids], self.max_length)
        return found._replace(ids=[(row[:0], row) for _, row in found.ids])


class BlockCutter(NamedTuple):
    """Running text in rows of `max_length` tokens, cut without regard to lines; a newline is a token.

    The rows of a block of lines are cut separately, so the last of them may be shorter.
    """

    max_length: int

    def __call__(self, block: Sequence[Pair], text: TokenizerPair) -> Encoded:
        parts = [block[start : start + PART_LINES] for start in range(0, len(block), PART_LINES)]
        ids = np.concatenate(text.tgt.encode_batch([running_text(part, text.tgt.kind) for part in parts]))
        rows = [ids[start : start + self.max_length] for start in range(0, len(ids), self.max_length)]
        counts = {**dict.fromkeys(COUNTS, 0), "read": len(block), "kept": len(block)}
        return Encoded([(ids[:0], row) for row in rows], counts, utf8_size(block))


def running_text(block: Iterable[Pair], kind: str) -> str:
    """Return lines as one text. Where words are separated by spaces, a newline is a word."""
    newline = " \n " if kind == "word" else "\n"
    return "".join(pair.tgt + newline for pair in block).removesuffix(" ")


class Done(NamedTuple):
    """Progress: pairs, and bytes of their text."""

    pairs: int
    size: int
    found: int = 0  # pairs of a shard that was there already


@dataclass(frozen=True)
class StoreJob:
    """What every shard of a store has in common. It is pickled, for other processes."""

    home: Path
    text: Path  # the folder of the vocabulary
    fingerprint: str
    shard_pairs: int
    encode: Encode
    is_strict: bool  # whether a bad line is an error
    valid: Sequence[Pair] = ()  # looked for in the training data
    valid_hash: str = ""

    @property
    def frames(self) -> Frames | None:
        """The form of sources that are not text."""
        return self.encode.signals.frames if isinstance(self.encode, FileFilter) else None

    def shard(self, number: int, *, verified: bool) -> ShardFacts | None:
        """Return the facts of a shard that was made by this job. `verified` also compares its SHA-256."""
        facts = read_shard(self.home, number, verified=verified)
        is_ours = facts and (facts.fingerprint, facts.valid) == (self.fingerprint, self.valid_hash)
        return facts if is_ours else None


def prepare_shard(job: StoreJob, piece: Piece) -> Iterator[Done]:
    """Write the shard of a piece, unless it is there already."""
    if there := job.shard(piece.number, verified=True):
        yield Done(there.counts["read"], there.size, there.counts["read"])
        return
    with gc_paused():
        skipped = ListedLines(is_strict=job.is_strict)
        with closing(read_piece(piece, skipped)) as pairs:
            yield from write_shard(job, piece.number, pairs, vocabulary(job.text, job.fingerprint), skipped)


@lru_cache(maxsize=1)
def vocabulary(folder: Path, fingerprint: str) -> TokenizerPair:
    """Return the vocabulary, once for all shards of a process. The fingerprint changes with it."""
    return load_text(folder)


class ListedLines(Skipped):
    """Bad lines, to be counted where all shards are known."""

    def __init__(self, *, is_strict: bool) -> None:
        super().__init__(is_strict=is_strict)
        self.lines: list[tuple[str, str, int]] = []

    def __call__(self, bad: BadLine) -> None:
        super().__call__(bad)
        self.lines.append((bad.kind, bad.file, bad.line))


def write_shard(
    job: StoreJob, number: int, pairs: Iterator[Pair], text: TokenizerPair, skipped: ListedLines
) -> Iterator[Done]:
    """Encode the pairs, drop unusable ones and write the shard. `counts` counts them by reason."""
    facts = ShardFacts(job.fingerprint, counts=dict.fromkeys(COUNTS, 0), valid=job.valid_hash)
    leaked = LeakedPairs(job.valid)
    size = max(text.src.size, text.tgt.size)
    work = partial(job.encode, text=text)
    shard = partial(new_shard, vocabulary=size, shard_pairs=job.shard_pairs, frames=job.frames)
    most = BLOCK_FILES if job.frames else BLOCK_PAIRS
    with (
        shard(job.home, number, facts=facts) as writer,
        closing(in_threads(work, blocks(leaked.through(pairs), most))) as encoded,
    ):
        for block in encoded:
            for bad in block.bad:
                skipped(bad)
            writer.extend(block.ids)
            for name, count in block.counts.items():
                facts.counts[name] += count
            facts.size += block.size
            yield Done(block.counts["read"], block.size)
        facts.bad, facts.leaked = skipped.lines, sorted(leaked.found)


class LeakedPairs:
    """Finds validation pairs that occur verbatim in the training data.

    `check` also finds those that differ in case or punctuation, which is too slow for building the stores.
    """

    def __init__(self, valid: Sequence[Pair]) -> None:
        self._numbers = {(pair.src, pair.tgt): number for number, pair in enumerate(valid)}
        self.found: set[int] = set()

    def through(self, pairs: Iterator[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            if (pair.src, pair.tgt) in self._numbers:
                self.found.add(self._numbers[pair.src, pair.tgt])
            yield pair


def in_threads(
    work: Callable[[list[Pair]], Encoded], items: Iterable[list[Pair]]
) -> Generator[Encoded, None, None]:
    """Yield work(item) for each item, in order, computing a few ahead."""
    waiting: deque[Future[Encoded]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) == AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def fitted(
    block: Sequence[Pair],
    shown: Sequence[Pair],
    rows: Sequence[tuple[Ids | FrameArray, Ids]],
    wanted: PairFilter | FileFilter,
    max_frames: int | None = None,
    kind: str = "",
) -> Encoded:
    """Return the rows to keep of those that are shown, once their targets fit into their frames."""
    if wanted.frames is None:
        return kept(block, rows, wanted.max_length, max_frames, kind)
    good, bad = without_unfit(shown, rows, wanted.frames, wanted.listed_in)
    lines = {one.line for one in bad}
    found = kept([p for p in block if p.line not in lines], good, wanted.max_length, max_frames)
    return found._replace(bad=bad)


def kept(
    block: Sequence[Pair],
    both: Sequence[tuple[Ids | FrameArray, Ids]],
    most: int,
    max_frames: int | None = None,
    kind: str = "",
) -> Encoded:
    """Return the rows in which neither side is empty or too long, and why the others are not kept. `kind` is
    that of the units of sources that are text."""
    longest = max_frames or most
    rows = [
        (src, tgt)
        for (src, tgt), length in zip(both, lengths([src for src, _ in both], kind), strict=True)
        if 0 < length <= longest and 0 < len(tgt) <= most
    ]
    empty = sum(not len(src) or not len(tgt) for src, tgt in both) if len(rows) < len(both) else 0
    counts = {
        "read": len(block),
        "skipped": len(block) - len(both),
        "empty": empty,
        "too_long": len(both) - empty - len(rows),
        "kept": len(rows),
    }
    return Encoded(rows, counts, utf8_size(block))


def utf8_size(block: Sequence[Pair]) -> int:
    lines = [line for pair in block for line in (pair.src, pair.tgt)]
    return len("\n".join(lines).encode()) + 1


def nothing_left(origin: str, counts: dict[str, int], encode: Encode) -> DataError:
    max_length, frames, more = encode.max_length, "", ""
    if isinstance(encode, FileFilter):
        most = encode.signals.max_frames
        frames, more = f"{most} frames or ", f"data.source.max_frames={most * 2} or "
    if counts["too_long"] > counts["empty"] + counts["skipped"]:
        hint = f"{more}data.max_length={max_length * 2}"
    else:
        hint = f"dragoman check {origin}"
    return DataError(
        f"No pairs are left to train on: {counts['read']} read, {counts['empty']} with an empty side, "
        f"{counts['too_long']} with more than {frames}{max_length} tokens, {counts['skipped']} held out.",
        where=origin,
        expected="at least one pair with text on both sides",
        hint=hint,
    )
