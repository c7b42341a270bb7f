"""Collation of rows of ids, or of frames, into padded tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from dragoman.data.padding import IdRow, SourceRow, pad, pad_sources
from dragoman.protocols import Batch
from dragoman.shapes import Bool, Shaped, Tensor
from dragoman.text.specials import BOS, PAD

IdPair = tuple[SourceRow, IdRow]
Collate = Callable[[Sequence[IdPair]], Batch]


def collate(pairs: Sequence[IdPair]) -> Batch:
    """Return a batch: x₁ … x_m </s> as source, <s> y₁ … y_n as decoder input, y₁ … y_n </s> as labels."""
    src, src_keep = collate_sources([src for src, _ in pairs])
    tgt_out, tgt_keep = pad([tgt for _, tgt in pairs])
    tgt_in = np.full_like(tgt_out, BOS)
    tgt_in[:, 1:] = np.where(tgt_keep[:, 1:], tgt_out[:, :-1], PAD)
    targets = (tgt_in, tgt_out, tgt_keep, np.flatnonzero(tgt_keep))
    return Batch(src, src_keep, *(torch.from_numpy(x) for x in targets))


def collate_blocks(pairs: Sequence[IdPair]) -> Batch:
    """Return a batch of running text: <s> y₁ … y_{n−1} as decoder input, y₁ … y_n as labels, without </s>.

    Every block begins with <s>, as every search does, so that a model learns to begin anywhere in a text.
    """
    batch = collate(pairs)
    keep = batch.tgt_keep[:, 1:].contiguous()  # one token less of each row: </s>
    tgt_in, tgt_out = batch.tgt_in[:, :-1].contiguous(), batch.tgt_out[:, :-1].contiguous()
    return Batch(batch.src, batch.src_keep, tgt_in, tgt_out, keep, keep.flatten().nonzero().squeeze(1))


def collate_sources(
    rows: Sequence[SourceRow], length: int | None = None
) -> tuple[Shaped[Tensor, "B S *f"], Bool[Tensor, "B S"]]:
    """Return padded sources and their mask."""
    src, keep = pad_sources(rows, length)
    return torch.from_numpy(src), torch.from_numpy(keep)
