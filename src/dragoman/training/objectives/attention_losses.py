"""Losses on the attention of a whole target, which are added to the cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from dragoman.losses.alignment import guided_alignment
from dragoman.losses.coverage import coverage
from dragoman.models.diagonal_prior import diagonal_prior
from dragoman.models.ibm1 import TranslationTable
from dragoman.protocols import Batch, send
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import EOS


def coverage_loss(batch: Batch, attention: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
    return batch.real(coverage(attention)).sum()


@dataclass(frozen=True)
class Aligner:
    """IBM Model 2 in one direction, on the device of its batches."""

    table: TranslationTable
    vocabulary: int  # of y
    tables: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict)  # copies on devices

    def __call__(
        self,
        x: Int[Tensor, "B S"],
        x_keep: Bool[Tensor, "B S"],
        y: Int[Tensor, "B T"],
        y_keep: Bool[Tensor, "B T"],
    ) -> Float[Tensor, "B T S"]:
        """Return p(a_j = i | x, y), as `ibm1.posterior` does. Only the mask of x includes </s>."""
        t = self.lookup(x.unsqueeze(1) * self.vocabulary + y.unsqueeze(2))
        prior: Float[Tensor, "B T S"] = diagonal_prior(x_keep, y_keep)
        t = t * prior * (y_keep.unsqueeze(2) & x_keep.unsqueeze(1))
        total = t.sum(dim=2, keepdim=True)
        return t / total.where(total > 0, 1.0)

    def lookup(self, pairs: Int[Tensor, "B T S"]) -> Float[Tensor, "B T S"]:
        """Return t of each pair from a copy of the table on the device, made at the first update."""
        device = pairs.device
        if device not in self.tables:
            keys, t = (send(torch.from_numpy(x), device) for x in self.table)
            self.tables[device] = keys, t
        keys, t = self.tables[device]
        position = torch.searchsorted(keys, pairs).clamp_max(len(keys) - 1)
        return t[position].where(keys[position] == pairs, 0.0)


@dataclass(frozen=True)
class GuidedAlignmentLoss:
    """The distance of the attention from alignments on which both directions agree (Liang et al. 2006)."""

    forward: Aligner
    backward: Aligner

    def __call__(self, batch: Batch, attention: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
        return guided_alignment(attention, self.alignment(batch).to(attention))

    def alignment(self, batch: Batch) -> Float[Tensor, "B T S"]:
        """Return √(p(a_j = i | x, y) p(a_i = j | y, x)), of the empty word p(a_j = 0 | x, y).

        The target's </s> is aligned with the source's, which is the empty word.
        """
        src, tgt = batch.src, batch.tgt_out
        src_words, tgt_words = batch.src_keep & (src != EOS), batch.tgt_keep & (tgt != EOS)
        forward = self.forward(src, batch.src_keep, tgt, tgt_words)
        backward = self.backward(tgt, batch.tgt_keep, src, src_words)
        agreed = (forward * backward.transpose(1, 2)).sqrt()
        empty, end = (src == EOS).unsqueeze(1), (batch.tgt_keep & ~tgt_words).unsqueeze(2)
        return torch.where(empty, forward, agreed) + (empty & end)
