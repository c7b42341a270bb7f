"""A seekable stream of global batches. Its only state is one integer: the number of examples consumed."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import torch

from dragoman.data.bucketing import Places, batches, window_size
from dragoman.data.collate import IdPair, collate
from dragoman.data.mixture import ExampleOrder, Rows
from dragoman.data.permutation import KeyPurpose, hash64
from dragoman.data.prefetch import prefetch
from dragoman.data.store.reader import StoreReader
from dragoman.errors import UsageError
from dragoman.protocols import Batch
from dragoman.text.tokenizer_pair import TokenizerPair

CPU = torch.device("cpu")


class GlobalBatch(NamedTuple):
    """The batch of one update. It contains only this rank's part of the fixed list of micro-batches."""

    position: int  # examples consumed before this batch
    next_position: int  # examples consumed including this batch
    tokens: int  # target tokens without padding, including </s>, of all micro-batches on all ranks
    src_tokens: int
    first_micro: int  # the index of `micro[0]` in the whole list
    micro: list[Batch | None]  # None where a batch has fewer rows than there are micro-batches
    epoch: float  # passes over the data including this batch


class Window(NamedTuple):
    """A range of the stream: the corpus, the row and the lengths of the stored ids of each example."""

    start: int
    corpus: Rows
    row: Rows
    src_len: Rows
    tgt_len: Rows


class Loader:
    """Batches of a mixture of stores. `resegment`, if given, samples new subwords for each example."""

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
        # With more ranks than micro-batches, some ranks are idle.
        if micro_batches % ranks and ranks % micro_batches:
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

    def batches(self, position: int = 0, device: torch.device = CPU) -> Generator[GlobalBatch, None, None]:
        """Yield batches forever, from the first one at or after `position`; closing ends the thread.

        The thread also starts to copy them to the device, before they are needed there.
        """
        return prefetch(self.stream(position, device))

    def stream(self, position: int, device: torch.device = CPU) -> Iterator[GlobalBatch]:
        if device.type == "cuda":
            torch.cuda.set_device(device)  # of this thread, which would otherwise use memory of the first GPU
        for window, parts, start in self.cuts(position):
            batch = self.global_batch(window, parts, start)
            yield batch._replace(micro=[micro and micro.to(device) for micro in batch.micro])

    def cuts(self, position: int) -> Iterator[tuple[Window, list[Places], int]]:
        """Yield each batch as its window, index arrays and the number of examples consumed before it."""
        for number in count(position // self.window_size):
            window = self.window(number)
            start = window.start
            for parts in self.cut(window, number):
                if start >= position:
                    yield window, parts, start
                start += sum(len(part) for part in parts)

    def examples(self, position: int) -> dict[str, list[int]]:
        """Return the rows of the batch at `position`, by the folder name of their store."""
        window, parts, _ = next(self.cuts(position))
        indices = np.concatenate(parts)
        return {
            store.folder.name: window.row[indices[window.corpus[indices] == c]].tolist()
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
        indices = np.concatenate(parts)
        src_tokens, tokens = (int(x[indices].sum()) + len(indices) for x in (window.src_len, window.tgt_len))
        mine: list[list[IdPair]]
        if self.resegment is None:
            mine = self.read(window, parts[self.mine])
        else:  # every rank needs the new token count of the whole batch, so each segments all of it
            drawn = self.redraw(self.resegment, window, parts)
            src_tokens = sum(len(src) + 1 for part in drawn for src, _ in part)
            tokens = sum(len(tgt) + 1 for part in drawn for _, tgt in part)
            mine = drawn[self.mine]
        return GlobalBatch(
            position=start,
            next_position=start + len(indices),
            tokens=tokens,
            src_tokens=src_tokens,
            first_micro=self.mine.start,
            micro=[collate(part) if part else None for part in mine],
            epoch=(start + len(indices)) / self.order.total,
        )

    def read(self, window: Window, parts: Sequence[Places]) -> list[list[IdPair]]:
        """Return the stored ids of examples of a window, in the given order; one read per store."""
        if not parts:
            return []
        indices = np.concatenate(parts)
        corpus, row = window.corpus[indices], window.row[indices]
        result: list[Any] = [None] * len(indices)
        for c in np.unique(corpus).tolist():
            at = np.flatnonzero(corpus == c)
            for index, pair in zip(at.tolist(), self.stores[c].read(row[at]), strict=True):
                result[index] = pair
        pairs = iter(result)
        return [list(islice(pairs, len(part))) for part in parts]

    def redraw(self, text: TokenizerPair, window: Window, parts: Sequence[Places]) -> list[list[IdPair]]:
        """Return the ids of examples in a new segmentation that depends only on seed and example number."""
        return [
            [
                self.redrawn(text, pair, window.start + index)
                for index, pair in zip(part.tolist(), pairs, strict=True)
            ]
            for part, pairs in zip(parts, self.read(window, parts), strict=True)
        ]

    def redrawn(self, text: TokenizerPair, pair: IdPair, example: int) -> IdPair:
        rng = random.Random(hash64(self.seed, KeyPurpose.PIECES, example))
        src, tgt = (np.asarray(ids).tolist() for ids in pair)
        return text.src.resegment(src, rng), text.tgt.resegment(tgt, rng)
