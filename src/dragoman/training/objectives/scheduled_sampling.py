"""One step after another, so that a step may read the model's own output and show where it looks.

Scheduled sampling (Bengio et al. 2015): the next input is the reference with probability p(i), else the
model's own. With p = 1 this is teacher forcing. Every decoder can; gradients flow through its states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, LossSum
from dragoman.shapes import Float, Int, Tensor
from dragoman.training.objectives.model_tokens import NextToken, mix_with_reference
from dragoman.training.objectives.sampling_decay import Decay

Feed = Callable[[Tensor, Tensor], Tensor]  # (the reference, features of the step before) → the next input
Term = Callable[[Batch, Tensor], Tensor]  # (batch, attention) → a sum over target tokens


class Unrolled(NamedTuple):
    h: Float[Tensor, "B T D"]
    attention: Float[Tensor, "B T S"] | None


@dataclass(frozen=True)
class StepwiseObjective:
    """Cross-entropy, and λ times each term over the attention."""

    p: Decay
    own: NextToken
    terms: Sequence[tuple[float, Term]] = ()

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> LossSum:
        walked = unroll(model, batch, self.feed(model, self.p(step)))
        sums = model.head.loss(walked.h[batch.tgt_keep], batch.tgt_out[batch.tgt_keep])
        if walked.attention is None:
            return sums
        attention = walked.attention.float()
        added = [weight * term(batch, attention) for weight, term in self.terms]
        return LossSum(torch.stack([sums.loss, *added]).sum(), sums.nll)

    def feed(self, model: Seq2Seq, p: float) -> Feed:
        if p >= 1.0:
            return lambda reference, h: reference
        return lambda reference, h: mix_with_reference(p, reference, self.own(model.head, h))


def unroll(model: Seq2Seq, batch: Batch, feed: Feed) -> Unrolled:
    """All steps of the target; the first reads <s>, each later one what `feed` gives it."""
    state = model.start(batch.src, batch.src_keep, 1)
    y: Int[Tensor, " B"] = batch.tgt_in[:, 0]
    h, state, alpha = model.decoder.step(y, state)
    hs, alphas = [h], [alpha]
    for reference in batch.tgt_in[:, 1:].unbind(dim=1):
        y = feed(reference, h)
        h, state, alpha = model.decoder.step(y, state)
        hs.append(h)
        alphas.append(alpha)
    looked = [alpha for alpha in alphas if alpha is not None]
    return Unrolled(torch.stack(hs, dim=1), torch.stack(looked, dim=1) if looked else None)
