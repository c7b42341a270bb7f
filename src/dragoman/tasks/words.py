"""What tagging and classification have in common: lines of words become batches, in training and later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from dragoman.config.root import Config
from dragoman.data.collate import IdPair
from dragoman.data.padding import IdRow, pad
from dragoman.data.readers.tagged import words_of
from dragoman.inference.runtimes.torch import invariant_batches, pad_batch
from dragoman.models.bundle import Bundle
from dragoman.protocols import Batch, send
from dragoman.search.batch_invariance import padded_length
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import PAD
from dragoman.text.tokenizers.spelled import is_word, spelled_rows

BATCH_LINES = 64


def collate_sources(
    config: Config, rows: Sequence[IdRow], length: int | None = None
) -> tuple[Int[Tensor, "B S *n"], Bool[Tensor, "B S"]]:
    """Return x₁ … x_n </s> and its mask; a spelled word is a row of its own."""
    is_spelled = config.text.src_units.kind == "spelled"
    src, keep = spelled_rows(rows, length) if is_spelled else pad(rows, length)
    return torch.from_numpy(src), torch.from_numpy(keep)


def collate(config: Config, rows: Sequence[IdPair]) -> Batch:
    """Return a batch whose targets are y₁ … y_n, without </s>."""
    src, src_keep = collate_sources(config, [src for src, _ in rows])
    y, keep = pad([tgt for _, tgt in rows])
    keep = keep[:, 1:]
    y = np.where(keep, y[:, :-1], PAD)
    targets = (torch.from_numpy(x) for x in (y, y, keep.copy(), np.flatnonzero(keep)))
    return Batch(src, src_keep, *targets)


class Lines(NamedTuple):
    """Lines that are answered together. `src` may have more rows, which repeat the last line."""

    indices: list[int]
    src: Int[Tensor, "B S *n"]
    keep: Bool[Tensor, "B S"]


class LineBatches:
    """The lines of a call as batches, in which the answer to a line does not depend on the others."""

    def __init__(self, bundle: Bundle) -> None:
        self.config = bundle.config
        self.text = bundle.text
        self.device = next(bundle.model.parameters()).device
        self.most = bundle.longest_source

    def __call__(self, texts: Sequence[str]) -> Iterator[Lines]:
        """Yield all lines with words, by their length."""
        rows = [row[: self.most] for row in self.text.read([" ".join(words_of(text)) for text in texts])]
        is_spelled = self.config.text.src_units.kind == "spelled"
        lengths = [int(is_word(row).sum()) if is_spelled else len(row) for row in rows]
        for indices in invariant_batches(lengths, BATCH_LINES):
            length = padded_length(lengths[indices[0]])
            src, keep = collate_sources(self.config, pad_batch([rows[i] for i in indices]), length)
            yield Lines(indices, send(src, self.device), send(keep, self.device))
