"""Pairs of text → a token store, streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from dragoman.data.pair import Pair
from dragoman.data.store.reader import Reader
from dragoman.data.store.writer import Writer
from dragoman.errors import DataError
from dragoman.text.pair import TextPair

CHUNK = 10_000

Progress = Callable[[int, int], None]  # pairs and bytes of text done so far


def prepare(
    pairs: Iterable[Pair],
    text: TextPair,
    folder: Path,
    *,
    origin: str,
    max_length: int,
    shard_pairs: int,
    fingerprint: str,
    skip: Callable[[Pair], bool] | None = None,
    progress: Progress | None = None,
) -> Reader:
    """Encode, drop what cannot be learnt from, write. `manifest.counts` says what was dropped and why."""
    counts = {"read": 0, "skipped": 0, "empty": 0, "too_long": 0, "kept": 0}
    size = 0
    vocabulary = max(text.src.size, text.tgt.size)
    with Writer(
        folder, vocabulary=vocabulary, shard_pairs=shard_pairs, fingerprint=fingerprint, counts=counts
    ) as writer:
        for chunk in chunks(pairs):
            writer.extend(encode(chunk, text, max_length, skip, counts))
            if progress is not None:
                size += utf8_size(chunk)
                progress(counts["read"], size)
        if not counts["kept"]:
            raise nothing_left(origin, counts, max_length)
    return Reader(folder)


def encode(
    chunk: list[Pair],
    text: TextPair,
    max_length: int,
    skip: Callable[[Pair], bool] | None,
    counts: dict[str, int],
) -> list[tuple[list[int], list[int]]]:
    """The ids of the pairs worth keeping; the others are counted."""
    wanted = [pair for pair in chunk if not skip(pair)] if skip else chunk
    src_ids = text.src.encode_batch([pair.src for pair in wanted])
    tgt_ids = text.tgt.encode_batch([pair.tgt for pair in wanted])
    kept = []
    for src, tgt in zip(src_ids, tgt_ids, strict=True):
        if not src or not tgt:
            counts["empty"] += 1
        elif len(src) > max_length or len(tgt) > max_length:
            counts["too_long"] += 1
        else:
            kept.append((src, tgt))
    counts["read"] += len(chunk)
    counts["skipped"] += len(chunk) - len(wanted)
    counts["kept"] += len(kept)
    return kept


def chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    stream = iter(pairs)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


def utf8_size(chunk: list[Pair]) -> int:
    """Bytes of these pairs in plain text files, line ends included."""
    return len("".join(f"{pair.src}\n{pair.tgt}\n" for pair in chunk).encode())


def nothing_left(origin: str, counts: dict[str, int], max_length: int) -> DataError:
    if counts["too_long"] > counts["empty"] + counts["skipped"]:
        hint = f"data.max_length={max_length * 2}"
    else:
        hint = f"dragoman check {origin}"
    return DataError(
        f"No pair is left to learn from: {counts['read']} read, {counts['empty']} with an empty side, "
        f"{counts['too_long']} with more than {max_length} tokens, {counts['skipped']} held out.",
        where=origin,
        expected="at least one pair with text on both sides",
        hint=hint,
    )
