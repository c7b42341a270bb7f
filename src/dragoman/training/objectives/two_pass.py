"""Scheduled sampling in two passes over the whole target (Mihaylova & Martins 2019), the fast variant.

The first pass reads the reference and predicts the model's own token at each position; the second reads a mix
of both, and its loss is minimised. The model's own tokens are conditioned on the reference, not on the mix.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from dragoman.losses.fast.output import slices
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, LossSum, Memory
from dragoman.shapes import Int, Tensor
from dragoman.training.objectives.model_tokens import NextToken, mix_with_reference
from dragoman.training.objectives.sampling_decay import Decay


@dataclass(frozen=True)
class TwoPassSampling:
    p: Decay
    own: NextToken

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> LossSum:
        memory = model.encoder(batch.src, batch.src_keep)
        own = self.first_pass(model, memory, batch)
        later = mix_with_reference(self.p(step), batch.tgt_in[:, 1:], own[:, :-1])
        mixed = torch.cat((batch.tgt_in[:, :1], later), dim=1)
        h = model.decoder(memory, mixed)
        return model.head.loss(batch.real(h), batch.real(batch.tgt_out))

    @torch.no_grad()
    def first_pass(self, model: Seq2Seq, memory: Memory, batch: Batch) -> Int[Tensor, "B T"]:
        h = model.decoder(memory, batch.tgt_in).flatten(0, 1)
        # A slice of logits at a time.
        own = [self.own(model.head, h[rows]) for rows in slices(len(h), h.device)]
        return torch.cat(own).view(batch.tgt_in.shape)
