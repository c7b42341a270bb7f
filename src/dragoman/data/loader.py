"""The seekable stream of global batches. Its whole state is one integer: the examples consumed so far."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.data.bucketing import Places, batches, by_length, cut, window_size
from dragoman.data.collate import IdPair, collate
from dragoman.data.mixture import ExampleOrder, Rows
from dragoman.data.permutation import KeyPurpose, hash64
from dragoman.data.prefetch import prefetch
from dragoman.data.store.reader import StoreReader
from dragoman.errors import UsageError
from dragoman.protocols import Batch
from dragoman.text.tokenizer_pair import TokenizerPair


class GlobalBatch(NamedTuple):
    """What one update learns from. Only this rank's part of the fixed list of micro-batches is here."""

    position: int  # examples consumed before this batch
    next_position: int  # … and with it
    tokens: int  # real target tokens, </s> included, of all micro-batches on all ranks
    src_tokens: int
    first_micro: int  # the number of `micro[0]` in the whole list
    micro: list[Batch | None]  # None where a batch has fewer rows than there are micro-batches
    epoch: float  # passes over the data with this batch


class Window(NamedTuple):
    """A stretch of the stream: for each example its corpus, its row and the lengths of its stored ids."""

    start: int
    corpus: Rows
    row: Rows
    src_len: Rows
    tgt_len: Rows


class Loader:
    """Batches of a mixture of stores. `resegment`, where given, draws new subwords for each example."""

    def __init__(
        self,
        stores: Sequence[StoreReader],
        weights: Sequence[float],
        *,
        batch_tokens: int,
        micro_batches: int,
        seed: int,
        rank: int = 0,
        ranks: int = 1,
        resegment: TokenizerPair | None = None,
    ) -> None:
        if micro_batches % ranks and ranks % micro_batches:  # with more ranks than micro-batches, some rest
            raise UsageError(
                f"{micro_batches} micro-batches cannot be shared evenly by {ranks} ranks.",
                where="training.micro_batches",
                expected=f"a multiple of {ranks}",
                hint=f"training.micro_batches={-(-micro_batches // ranks) * ranks}",
            )
        self.stores = stores
        self.order = ExampleOrder([len(store) for store in stores], weights, seed)
        self.batch_tokens = batch_tokens
        self.micro_batches = micro_batches
        self.seed = seed
        self.mine = slice(rank * micro_batches // ranks, (rank + 1) * micro_batches // ranks)
        self.resegment = resegment
        self.window_size = window_size(self.order.total)

    def batches(self, position: int = 0) -> Generator[GlobalBatch, None, None]:
        """Without end, from the first batch that begins at `position` or after; closing ends its thread."""
        return prefetch(self.stream(position))

    def stream(self, position: int) -> Iterator[GlobalBatch]:
        for window, parts, start in self.cuts(position):
            yield self.global_batch(window, parts, start)

    def cuts(self, position: int) -> Iterator[tuple[Window, list[Places], int]]:
        """The batches as places in their windows, each with the examples consumed before it."""
        for number in count(position // self.window_size):
            window = self.window(number)
            start = window.start
            for parts in self.cut(window, number):
                if start >= position:
                    yield window, parts, start
                start += sum(len(part) for part in parts)

    def examples(self, position: int) -> dict[str, list[int]]:
        """The rows that the batch at `position` is made of, by the folder of their store."""
        window, parts, _ = next(self.cuts(position))
        places = np.concatenate(parts)
        return {
            store.folder.name: window.row[places[window.corpus[places] == c]].tolist()
            for c, store in enumerate(self.stores)
        }

    def window(self, number: int) -> Window:
        start = number * self.window_size
        corpus, row = self.order.rows(start, self.window_size)
        src_len, tgt_len = np.empty_like(row), np.empty_like(row)
        for c, store in enumerate(self.stores):
            mine = corpus == c
            src_len[mine], tgt_len[mine] = store.lengths(row[mine])
        return Window(start, corpus, row, src_len, tgt_len)

    def cut(self, window: Window, number: int) -> list[list[Places]]:
        return batches(
            window.src_len,
            window.tgt_len,
            batch_tokens=self.batch_tokens,
            micro_batches=self.micro_batches,
            key=hash64(self.seed, KeyPurpose.WINDOW, number),
        )

    def global_batch(self, window: Window, parts: list[Places], start: int) -> GlobalBatch:
        places = np.concatenate(parts)
        src_tokens, tokens = (int(x[places].sum()) + len(places) for x in (window.src_len, window.tgt_len))
        mine: list[list[IdPair]]
        if self.resegment is None:
            mine = self.read(window, parts[self.mine])
        else:  # every rank must know the new token count of the whole batch, so each segments all of it
            drawn = self.redraw(self.resegment, window, parts)
            src_tokens = sum(len(src) + 1 for part in drawn for src, _ in part)
            tokens = sum(len(tgt) + 1 for part in drawn for _, tgt in part)
            mine = drawn[self.mine]
        return GlobalBatch(
            position=start,
            next_position=start + len(places),
            tokens=tokens,
            src_tokens=src_tokens,
            first_micro=self.mine.start,
            micro=[collate(part) if part else None for part in mine],
            epoch=(start + len(places)) / self.order.total,
        )

    def read(self, window: Window, parts: Sequence[Places]) -> list[list[IdPair]]:
        """The stored ids of examples of a window, in the order asked for; one read for each store."""
        if not parts:
            return []
        places = np.concatenate(parts)
        corpus, row = window.corpus[places], window.row[places]
        found: list[Any] = [None] * len(places)
        for c in np.unique(corpus).tolist():
            at = np.flatnonzero(corpus == c)
            for place, pair in zip(at.tolist(), self.stores[c].read(row[at]), strict=True):
                found[place] = pair
        pairs = iter(found)
        return [list(islice(pairs, len(part))) for part in parts]

    def redraw(self, text: TokenizerPair, window: Window, parts: Sequence[Places]) -> list[list[IdPair]]:
        """The ids of examples, segmented anew by a draw that only seed and example number decide."""
        return [
            [
                self.redrawn(text, pair, window.start + place)
                for place, pair in zip(part.tolist(), pairs, strict=True)
            ]
            for part, pairs in zip(parts, self.read(window, parts), strict=True)
        ]

    def redrawn(self, text: TokenizerPair, pair: IdPair, example: int) -> IdPair:
        rng = random.Random(hash64(self.seed, KeyPurpose.PIECES, example))
        src, tgt = (np.asarray(ids).tolist() for ids in pair)
        return text.src.resegment(src, rng), text.tgt.resegment(tgt, rng)


def fixed_batches(store: StoreReader, batch_tokens: int) -> Iterator[tuple[Batch, NDArray[np.int64]]]:
    """Every row once, like lengths together, always the same; with the row numbers. For validation."""
    src_len, tgt_len = store.lengths(np.arange(len(store)))
    rows = by_length(src_len, tgt_len, key=0)
    starts = cut(np.maximum(src_len, tgt_len)[rows] + 1, batch_tokens, rows=1)
    for part in np.split(rows, starts[1:]):
        yield collate(store.read(part)), part
