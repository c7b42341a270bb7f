"""A seekable stream of global batches. Its only state is one integer: the number of the next batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, NamedTuple

import numpy as np
import torch

from dragoman.data.bucketing import WINDOW, Places, buckets, greedy, padded, window_size
from dragoman.data.collate import Collate, IdPair, collate
from dragoman.data.mixture import ExampleOrder, Rows
from dragoman.data.permutation import KeyPurpose
from dragoman.data.prefetch import prefetch
from dragoman.data.store.reader import StoreReader
from dragoman.hashing import hash64, hash64_each
from dragoman.protocols import Batch
from dragoman.text.tokenizer_pair import TokenizerPair

CPU = torch.device("cpu")
SAMPLES = 4  # windows, of which the one that needs most micro-batches decides how many each is cut into
FEWEST_BATCHES = 32  # per window, if there are enough examples: with few, batches are less full and less even


class GlobalBatch(NamedTuple):
    """The batch of one update. It contains only this rank's part of the fixed list of micro-batches."""

    number: int  # of this batch in the stream, from 0
    first_micro: int  # the index of `micro[0]` in the whole list
    micro: list[Batch]
    epoch: float  # passes over the data including this batch


class Window(NamedTuple):
    """A range of the stream: the corpus, the row and the lengths of the stored ids of each example."""

    start: int
    corpus: Rows
    row: Rows
    src_len: Rows
    tgt_len: Rows


class Loader:
    """Batches of a mixture of stores. `resegment`, if given, samples new subwords for each example; those of
    more than `longest` tokens, which the stored ids have at most, are not used.

    Every micro-batch of an update comes from a window of its own. The windows of `per_window` updates are one
    range of the stream, and each is cut into that many micro-batches.
    """

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
        longest: int = 1 << 30,
        collate: Collate = collate,
    ) -> None:
        self.collate = collate
        self.longest = longest
        self.stores = stores
        self.order = ExampleOrder([len(store) for store in stores], weights, seed)
        self.micro_batches = micro_batches
        self.seed = seed
        self.mine = range(rank * micro_batches // ranks, (rank + 1) * micro_batches // ranks)
        self.resegment = resegment
        self.window_size, self.per_window = self.sizes(batch_tokens / micro_batches)

    def sizes(self, tokens: float) -> tuple[int, int]:
        """Return the size of a window, and how many micro-batches of that many tokens one is cut into."""
        sample = self.window(0, min(WINDOW, self.order.total))
        rows = tokens / padded(sample.src_len, sample.tgt_len).mean()
        size = window_size(self.order.total, self.micro_batches, max(WINDOW, round(FEWEST_BATCHES * rows)))
        samples = [self.window(number * size, size) for number in range(SAMPLES)]
        lengths = [np.sort(padded(sample.src_len, sample.tgt_len)) for sample in samples]
        return size, max(len(greedy(length, int(tokens))) for length in lengths)

    @property
    def rows_per_batch(self) -> float:
        """The mean number of examples in the batch of one update, on all ranks."""
        return self.micro_batches * self.window_size / self.per_window

    def batches(self, number: int = 0, device: torch.device = CPU) -> Generator[GlobalBatch, None, None]:
        """Yield batches forever, from the one with that number on; closing ends the thread.

        The thread also starts to copy them to the device, before they are needed there.
        """
        return prefetch(self.stream(number, device))

    def stream(self, number: int, device: torch.device = CPU) -> Iterator[GlobalBatch]:
        if device.type == "cuda":
            torch.cuda.set_device(device)  # of this thread, which would otherwise use memory of the first GPU
        for n, cuts in enumerate(self.cuts(number, self.mine), start=number):
            micro = [self.collate(pairs).to(device) for pairs in self.pairs(cuts)]
            epoch = (n + 1) * self.rows_per_batch / self.order.total
            yield GlobalBatch(n, self.mine.start, micro, epoch)

    def cuts(self, number: int, micro_batches: range) -> Iterator[list[tuple[Window, Places]]]:
        """Yield each batch from `number` on, as a window and the indices in it of each micro-batch."""
        windows, done = divmod(number, self.per_window)
        for first in count(windows * self.micro_batches, self.micro_batches):
            cut = [self.cut(first + micro) for micro in micro_batches]
            for at in range(done, self.per_window):
                yield [(window, places[at]) for window, places in cut]
            done = 0

    def cut(self, number: int) -> tuple[Window, list[Places]]:
        """Return a window, and the indices in it of each of its micro-batches."""
        window = self.window(number * self.window_size, self.window_size)
        key = hash64(self.seed, KeyPurpose.WINDOW, number)
        return window, buckets(window.src_len, window.tgt_len, self.per_window, key)

    def examples(self, number: int) -> dict[str, list[int]]:
        """Return the rows of a batch, on all ranks, by the folder name of their store."""
        cuts = next(self.cuts(number, range(self.micro_batches)))
        corpus = np.concatenate([window.corpus[indices] for window, indices in cuts])
        row = np.concatenate([window.row[indices] for window, indices in cuts])
        return {store.folder.name: row[corpus == c].tolist() for c, store in enumerate(self.stores)}

    def window(self, start: int, size: int) -> Window:
        corpus, row = self.order.rows(start, size)
        src_len, tgt_len = np.empty_like(row), np.empty_like(row)
        for c, store in enumerate(self.stores):
            mine = corpus == c
            src_len[mine], tgt_len[mine] = store.lengths(row[mine])
        return Window(start, corpus, row, src_len, tgt_len)

    def pairs(self, cuts: Sequence[tuple[Window, Places]]) -> list[list[IdPair]]:
        """Return the ids of the examples of each micro-batch."""
        read = [self.read(window, indices) for window, indices in cuts]
        if self.resegment is None or not read:
            return read
        examples = np.concatenate([window.start + indices for window, indices in cuts])
        drawn = iter(self.redraw(self.resegment, [*chain.from_iterable(read)], examples))
        return [list(islice(drawn, len(pairs))) for pairs in read]

    def read(self, window: Window, indices: Places) -> list[IdPair]:
        """Return the stored ids of examples of a window; one read per store."""
        corpus, row = window.corpus[indices], window.row[indices]
        result: list[Any] = [None] * len(indices)
        for c in np.unique(corpus).tolist():
            at = np.flatnonzero(corpus == c)
            for index, pair in zip(at.tolist(), self.stores[c].read(row[at]), strict=True):
                result[index] = pair
        return result

    def redraw(self, text: TokenizerPair, pairs: Sequence[IdPair], examples: Rows) -> list[IdPair]:
        """Return the ids of examples in a new segmentation that depends only on seed and example number."""
        keys = hash64_each(hash64(self.seed, KeyPurpose.PIECES), examples.astype(np.uint64))
        drawn = text.resegment([(np.asarray(src), np.asarray(tgt)) for src, tgt in pairs], keys)
        return [
            new
            if all(len(ids) <= max(len(was), self.longest) for ids, was in zip(new, stored, strict=True))
            else stored
            for stored, new in zip(pairs, drawn, strict=True)
        ]
