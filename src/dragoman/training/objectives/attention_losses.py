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
class GuidedAlignmentLoss:
    """The distance of the attention from IBM Model 2 alignments. </s> is aligned with the source's </s>."""

    table: TranslationTable
    vocabulary: int  # of the target
    tables: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict)  # copies on devices

    def __call__(self, batch: Batch, attention: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
        return guided_alignment(attention, self.alignment(batch).to(attention))

    def alignment(self, batch: Batch) -> Float[Tensor, "B T S"]:
        ends = batch.tgt_keep & (batch.tgt_out == EOS)
        words = batch.tgt_keep & ~ends
        aligned = self.posterior(batch, words)
        return aligned + (ends.unsqueeze(2) & (batch.src == EOS).unsqueeze(1))

    def posterior(self, batch: Batch, words: Bool[Tensor, "B T"]) -> Float[Tensor, "B T S"]:
        """Return p(a_j = i | x, y) of these target words, as `ibm1.posterior` does, on the batch's device."""
        t = self.lookup(batch.src.unsqueeze(1) * self.vocabulary + batch.tgt_out.unsqueeze(2))
        prior: Float[Tensor, "B T S"] = diagonal_prior(batch.src_keep, words)
        t = t * prior * (words.unsqueeze(2) & batch.src_keep.unsqueeze(1))
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
