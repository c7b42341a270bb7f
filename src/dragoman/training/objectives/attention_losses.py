"""Losses on the attention of a whole target, which are added to the cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from dragoman.losses.alignment import guided_alignment
from dragoman.losses.coverage import coverage
from dragoman.models.ibm1 import PaddedPairs, TranslationTable, pair_keys, posterior
from dragoman.protocols import Batch
from dragoman.shapes import Float, Tensor
from dragoman.text.specials import EOS


def coverage_loss(batch: Batch, attention: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
    return batch.real(coverage(attention)).sum()


@dataclass(frozen=True)
class GuidedAlignmentLoss:
    """The distance of the attention from IBM Model 1 alignments. </s> is aligned with the source's </s>."""

    table: TranslationTable
    vocabulary: int  # of the target

    def __call__(self, batch: Batch, attention: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
        return guided_alignment(attention, self.alignment(batch).to(attention))

    def alignment(self, batch: Batch) -> Float[Tensor, "B T S"]:
        ends = batch.tgt_keep & (batch.tgt_out == EOS)
        words = batch.tgt_keep & ~ends
        pairs = PaddedPairs(*(x.cpu().numpy() for x in (batch.src, batch.src_keep, batch.tgt_out, words)))
        A = torch.from_numpy(posterior(self.table(pair_keys(pairs, self.vocabulary)), pairs))
        return A + (ends.unsqueeze(2) & (batch.src == EOS).unsqueeze(1)).cpu()
