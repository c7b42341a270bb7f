"""Scheduled sampling, and losses on the attention: objectives that unroll the decoder step by step.

Scheduled sampling (Bengio et al. 2015): the next input is the reference with probability p(i), else the
model's own token. It works with every decoder; gradients flow through its states. With p = 1 this is teacher
forcing, and decoders that can run all steps at once do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch

from dragoman.models.language_model import LanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, Decoder, LossSum, Memory
from dragoman.shapes import Float, Int, Tensor
from dragoman.training.objectives.model_tokens import NextToken, mix_with_reference
from dragoman.training.objectives.sampling_decay import Decay

Feed = Callable[[Tensor, Tensor], Tensor]  # (reference, features of the previous step) → next input
Term = Callable[[Batch, Tensor], Tensor]  # (batch, attention) → a sum over target tokens


@runtime_checkable
class ParallelAttentionDecoder(Decoder, Protocol):
    """A decoder that computes the attention of a whole target at once."""

    def forward_with_attention(
        self, memory: Memory, tgt: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T S"]]:
        """Return the features, and the attention weights that `step` returns for each token."""


class DecoderOutput(NamedTuple):
    h: Float[Tensor, "B T D"]
    attention: Float[Tensor, "B T S"] | None


@dataclass(frozen=True)
class StepwiseObjective:
    """Cross-entropy plus λ times each attention loss."""

    p: Decay
    own: NextToken
    terms: Sequence[tuple[float, Term]] = ()

    def __call__(self, model: Seq2Seq | LanguageModel, batch: Batch, step: int) -> LossSum:
        output = self.output(model, batch, self.p(step))
        sums = model.head.loss(batch.real(output.h), batch.real(batch.tgt_out))
        if output.attention is None:
            return sums
        attention = output.attention.float()
        added = [weight * term(batch, attention) for weight, term in self.terms]
        return LossSum(torch.stack([sums.loss, *added]).sum(), sums.nll)

    def output(self, model: Seq2Seq | LanguageModel, batch: Batch, p: float) -> DecoderOutput:
        if p < 1.0:
            return unroll(model, batch, lambda y, h: mix_with_reference(p, y, self.own(model.head, h)))
        if isinstance(model, LanguageModel) or not isinstance(model.decoder, ParallelAttentionDecoder):
            return unroll(model, batch, lambda y, h: y)
        memory = model.encoder(batch.src, batch.src_keep)
        return DecoderOutput(*model.decoder.forward_with_attention(memory, batch.tgt_in))


def unroll(model: Seq2Seq | LanguageModel, batch: Batch, feed: Feed) -> DecoderOutput:
    """Run all steps of the target. The first reads <s>, each later one the output of `feed`."""
    state = model.start(batch.src, batch.src_keep, 1)
    y: Int[Tensor, " B"] = batch.tgt_in[:, 0]
    h, state, alpha = model.decoder.step(y, state)
    hs, alphas = [h], [alpha]
    for reference in batch.tgt_in[:, 1:].unbind(dim=1):
        y = feed(reference, h)
        h, state, alpha = model.decoder.step(y, state)
        hs.append(h)
        alphas.append(alpha)
    attention_steps = [alpha for alpha in alphas if alpha is not None]
    attention = torch.stack(attention_steps, dim=1) if attention_steps else None
    return DecoderOutput(torch.stack(hs, dim=1), attention)
