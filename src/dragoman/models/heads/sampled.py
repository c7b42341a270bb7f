"""A softmax that is normalised over a vocabulary V′ of the batch in training (Jean et al. 2015).

p(y | h) ≈ exp(w_yᵀh + b_y) / Σ_{v ∈ V′} exp(w_vᵀh + b_v)

V′ holds the target words of the batch and random other words, τ in total. The proposal Q is uniform
over V′, so the correction −log Q of importance sampling is the same for each word and cancels.
"""

from __future__ import annotations

import torch
from torch import nn

from dragoman.losses.fast.output import output_loss
from dragoman.models.heads.token import TokenHead
from dragoman.nn.dropout import draw, uniform
from dragoman.protocols import LossSum
from dragoman.shapes import Float, Int, Tensor


class SampledHead(TokenHead):
    """Sampled softmax, where `size` is τ. Evaluation and search use the whole vocabulary."""

    def __init__(self, W: nn.Parameter, size: int, smoothing: float) -> None:
        super().__init__(W, smoothing)
        self.size = size

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> LossSum:
        if not self.training:
            return super().loss(h, y)
        words, indices = batch_vocabulary(y, self.W.shape[0], self.size)
        W, b = self.W.index_select(0, words), self.b.index_select(0, words)
        return output_loss(h, W, b, indices, self.smoothing)


def batch_vocabulary(
    y: Int[Tensor, " N"], total: int, size: int
) -> tuple[Int[Tensor, " M"], Int[Tensor, " N"]]:
    """Return V′ and the index of each y in it: targets first, then other words, `size` in total.

    All batches have the same size, unless there are more targets, because kernels are compiled per size. On
    other devices than a CPU, V′ has a word for each row of y at least: how many of them are distinct is only
    known to the device.
    """
    if y.device.type != "cpu":
        order = uniform(total, y.device).index_fill(0, y, 1.0)  # targets, then others by lot
        words = order.topk(min(max(size, len(y)), total)).indices
        return words, torch.empty_like(order, dtype=torch.long).index_copy(
            0, words, torch.arange(len(words), device=y.device)
        )[y]
    is_target = torch.zeros(total, dtype=torch.bool, device=y.device)
    is_target[y] = True
    targets, others = is_target.nonzero().squeeze(1), (~is_target).nonzero().squeeze(1)
    missing = min(max(size - len(targets), 0), len(others))
    drawn = others[draw(len(others), missing).to(y.device)]
    return torch.cat((targets, drawn)), torch.searchsorted(targets, y)
