"""Adaptive softmax: fast for frequent words, with fewer features for rare ones (Grave et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.losses.fast.output import output_loss
from dragoman.nn.embedding import embedding_matrix
from dragoman.nn.module_list import TypedModuleList
from dragoman.protocols import LossSum, send
from dragoman.shapes import Float, Int, Tensor


class Softmax(nn.Module):
    """log softmax(U P h + b): P projects h to the features of a cluster."""

    def __init__(self, P: nn.Module, features: int, words: int) -> None:
        super().__init__()
        self.P = P
        self.U = embedding_matrix(words, features)
        self.b = nn.Parameter(torch.zeros(words))

    def forward(self, h: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        z = F.linear(self.P(h), self.U, self.b)
        return torch.log_softmax(z, dim=1, dtype=torch.promote_types(z.dtype, torch.float32))

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"], smoothing: float) -> LossSum:
        return output_loss(self.P(h), self.U, self.b, y, smoothing)

    if TYPE_CHECKING:
        __call__ = forward


def rows_by_cluster(cluster: Int[Tensor, " N"], count: int) -> tuple[Int[Tensor, " M"], ...]:
    """Return the rows of each cluster, in order. The host waits once for their numbers."""
    sizes = (cluster.unsqueeze(1) == torch.arange(count, device=cluster.device)).sum(dim=0).tolist()
    return cluster.argsort(stable=True).split(sizes)


class AdaptiveHead(nn.Module):
    """Words are numbered by frequency and split at c₁ < c₂ < … < V; cluster i begins at cᵢ.

    log p(w | h) = log p₀(w | h)                            for w < c₁
    log p(w | h) = log p₀(cluster i | h) + log pᵢ(w | h)    for w in cluster i

    p₀ chooses between the c₁ frequent words and the clusters; pᵢ sees D / shrinkⁱ features.
    """

    def __init__(
        self, features: int, vocabulary: int, cutoffs: Sequence[int], shrink: int, smoothing: float
    ) -> None:
        super().__init__()
        self.starts, ends = list(cutoffs), [*cutoffs[1:], vocabulary]
        self.frequent = Softmax(nn.Identity(), features, cutoffs[0] + len(cutoffs))
        sizes = [features // shrink**i for i in range(1, len(cutoffs) + 1)]
        self.clusters = TypedModuleList(
            Softmax(nn.Linear(features, size, bias=False), size, end - start)
            for size, start, end in zip(sizes, self.starts, ends, strict=True)
        )
        self.smoothing = smoothing

    def forward(self, h: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        log_p = self.frequent(h)
        words, clusters = log_p[:, : self.starts[0]], log_p[:, self.starts[0] :].split(1, dim=1)
        rare = [cluster + inner(h) for cluster, inner in zip(clusters, self.clusters, strict=True)]
        return torch.cat((words, *rare), dim=1)

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> LossSum:
        """Return the sum of the losses: p₀ for each row, and pᵢ for rows whose word is in cluster i."""
        cluster = torch.bucketize(y, send(torch.tensor(self.starts), y.device), right=True)
        choice = torch.where(cluster == 0, y, self.starts[0] + cluster - 1)
        sums = [self.frequent.loss(h, choice, self.smoothing)]
        _, *parts = rows_by_cluster(cluster, len(self.starts) + 1)
        for rows, start, inner in zip(parts, self.starts, self.clusters, strict=True):
            if len(rows):
                sums.append(inner.loss(h.index_select(0, rows), y[rows] - start, self.smoothing))
        return LossSum(*(torch.stack(parts).sum() for parts in zip(*sums, strict=True)))

    if TYPE_CHECKING:
        __call__ = forward
