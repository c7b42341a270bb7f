"""Pooling: one vector for a whole sequence, for classification, and the weight of each state in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.nn.attention.attend import attend, padding_bias
from dragoman.nn.attention.scores import Score
from dragoman.shapes import Bool, Float, Tensor

Pooled = tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]


class LearnedQuery(nn.Module):
    """α = softmax(e(q, h)), c = Σ α_i v_i, with a trained q (Yang et al. 2016, eq. 6 and 7).

    The score computes the keys from the states; the values are the states, or a projection of them.
    """

    def __init__(self, score: Score, query_size: int, values: nn.Module | None = None) -> None:
        super().__init__()
        self.score = score
        self.q = nn.Parameter(torch.empty(query_size).uniform_(-(query_size**-0.5), query_size**-0.5))
        self.values = values or nn.Identity()

    def forward(self, h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Pooled:
        """Return c and α."""
        e = self.score.score(self.q.expand(h.shape[0], 1, -1), self.score.keys(h))
        return pool(e, self.values(h), keep)

    if TYPE_CHECKING:
        __call__ = forward


class MeanPooling(nn.Module):
    """c = 1/n Σ h_i: every state has the weight 1/n."""

    def forward(self, h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Pooled:
        alpha = keep.to(h.dtype) / keep.sum(dim=1, keepdim=True)
        return (alpha.unsqueeze(1) @ h).squeeze(1), alpha

    if TYPE_CHECKING:
        __call__ = forward


class MaxPooling(nn.Module):
    """c_d = max_i h_id. The weight of a state is the share of the features that have their maximum there."""

    def forward(self, h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Pooled:
        c, places = h.masked_fill(~keep.unsqueeze(2), float("-inf")).max(dim=1)
        counts = torch.zeros_like(h[:, :, 0]).scatter_add(1, places, torch.ones_like(c))
        return c, counts / c.shape[1]

    if TYPE_CHECKING:
        __call__ = forward


class PositionBiasPooling(nn.Module):
    """e_i = tanh(wᵀ h_i + b_i): one weight per feature and one per position, so for a fixed length only.

    The smallest attention that textbooks add to a recurrent network: 20 + 2 weights for 20 steps of
    2 features.
    """

    def __init__(self, length: int, size: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(size) * size**-0.5)
        self.b = nn.Parameter(torch.zeros(length))

    def forward(self, h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Pooled:
        return pool(torch.tanh(h @ self.w + self.b).unsqueeze(1), h, keep)

    if TYPE_CHECKING:
        __call__ = forward


def pool(e: Float[Tensor, "B 1 S"], v: Float[Tensor, "B S M"], keep: Bool[Tensor, "B S"]) -> Pooled:
    c, alpha = attend(e + padding_bias(keep, e.dtype), v)
    return c.squeeze(1), alpha.squeeze(1)
