"""Preparation of a token store from text: threads encode some blocks while others are read and written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dragoman.data.pair import Pair, blocks
from dragoman.data.store.reader import StoreReader
from dragoman.data.store.writer import StoreWriter
from dragoman.errors import DataError
from dragoman.text.tokenizer import Ids
from dragoman.text.tokenizer_pair import TokenizerPair

THREADS = 2  # one encodes while the other converts its ids; SentencePiece has its own threads
AHEAD = 3  # blocks read but not yet written

OnProgress = Callable[[int, int], None]  # pairs and bytes of text processed so far
Skip = Callable[[Pair], bool]


class PairFilter(NamedTuple):
    """Which pairs to keep."""

    max_length: int  # tokens per side
    skip: Skip | None = None  # whether a pair is held out


class Encoded(NamedTuple):
    """An encoded block: the ids of the pairs that are kept, and the counts of all."""

    ids: list[tuple[Ids, Ids]]
    counts: dict[str, int]
    size: int  # bytes of its text in plain files, including line ends


def prepare(
    pairs: Iterable[Pair],
    text: TokenizerPair,
    folder: Path,
    *,
    wanted: PairFilter,
    origin: str,
    shard_pairs: int,
    fingerprint: str,
    progress: OnProgress | None = None,
) -> StoreReader:
    """Encode the pairs, drop unusable ones and write the store. `manifest.counts` counts them by reason."""
    counts = {"read": 0, "skipped": 0, "empty": 0, "too_long": 0, "kept": 0}
    size = 0
    vocabulary = max(text.src.size, text.tgt.size)
    work = partial(encode, text=text, wanted=wanted)
    with (
        StoreWriter(
            folder, vocabulary=vocabulary, shard_pairs=shard_pairs, fingerprint=fingerprint, counts=counts
        ) as writer,
        closing(in_threads(work, blocks(pairs))) as encoded,
    ):
        for block in encoded:
            writer.extend(block.ids)
            counts.update({name: counts[name] + count for name, count in block.counts.items()})
            size += block.size
            if progress is not None:
                progress(counts["read"], size)
        if not counts["kept"]:
            raise nothing_left(origin, counts, wanted.max_length)
    return StoreReader(folder)


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


def encode(block: list[Pair], text: TokenizerPair, wanted: PairFilter) -> Encoded:
    most, skip = wanted
    shown = [pair for pair in block if not skip(pair)] if skip else block
    src_ids = text.src.encode_batch([pair.src for pair in shown])
    tgt_ids = text.tgt.encode_batch([pair.tgt for pair in shown])
    both = list(zip(src_ids, tgt_ids, strict=True))
    kept = [(src, tgt) for src, tgt in both if 0 < len(src) <= most and 0 < len(tgt) <= most]
    empty = sum(not len(src) or not len(tgt) for src, tgt in both) if len(kept) < len(both) else 0
    counts = {
        "read": len(block),
        "skipped": len(block) - len(shown),
        "empty": empty,
        "too_long": len(both) - empty - len(kept),
        "kept": len(kept),
    }
    return Encoded(kept, counts, utf8_size(block))


def utf8_size(block: list[Pair]) -> int:
    lines = [line for pair in block for line in (pair.src, pair.tgt)]
    return len("\n".join(lines).encode()) + 1


def nothing_left(origin: str, counts: dict[str, int], max_length: int) -> DataError:
    if counts["too_long"] > counts["empty"] + counts["skipped"]:
        hint = f"data.max_length={max_length * 2}"
    else:
        hint = f"dragoman check {origin}"
    return DataError(
        f"No pairs are left to train on: {counts['read']} read, {counts['empty']} with an empty side, "
        f"{counts['too_long']} with more than {max_length} tokens, {counts['skipped']} held out.",
        where=origin,
        expected="at least one pair with text on both sides",
        hint=hint,
    )
