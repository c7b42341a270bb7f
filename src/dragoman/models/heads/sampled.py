"""A softmax that is normalised over a vocabulary V′ of the batch while training (Jean et al. 2015).

p(y | h) ≈ exp(w_yᵀh + b_y) / Σ_{v ∈ V′} exp(w_vᵀh + b_v)

V′ holds the batch's target words and others drawn at random until it has τ words. The proposal Q is uniform
over V′, so the correction −log Q of importance sampling is the same for each word and cancels.
"""

from __future__ import annotations

import torch
from torch import nn

from dragoman.losses.fast.output import output_loss
from dragoman.models.heads.token import TokenHead
from dragoman.nn.dropout import draw
from dragoman.protocols import LossSum
from dragoman.shapes import Float, Int, Tensor


class SampledHead(TokenHead):
    """`size` is τ. Evaluation and search see the whole vocabulary."""

    def __init__(self, W: nn.Parameter, size: int, smoothing: float) -> None:
        super().__init__(W, smoothing)
        self.size = size

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> LossSum:
        if not self.training:
            return super().loss(h, y)
        words, places = batch_vocabulary(y, self.W.shape[0], self.size)
        W, b = self.W.index_select(0, words), self.b.index_select(0, words)
        return output_loss(h, W, b, places, self.smoothing)


def batch_vocabulary(
    y: Int[Tensor, " N"], total: int, size: int
) -> tuple[Int[Tensor, " M"], Int[Tensor, " N"]]:
    """V′ and where each y stands in it: targets first, then others until there are `size` words.

    Its size is the same for each batch, unless the targets alone are more: kernels are compiled by size.
    """
    is_target = torch.zeros(total, dtype=torch.bool, device=y.device)
    is_target[y] = True
    targets, others = is_target.nonzero().squeeze(1), (~is_target).nonzero().squeeze(1)
    missing = min(max(size - len(targets), 0), len(others))
    drawn = others[draw(len(others), missing).to(y.device)]
    return torch.cat((targets, drawn)), torch.searchsorted(targets, y)
