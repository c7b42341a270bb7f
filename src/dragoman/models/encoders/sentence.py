"""Encoders that reduce a sentence to one vector without recurrence: baselines of classification.

The vector is the summary; the states are the embeddings of the tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.models.encoders.transformer import mean
from dragoman.nn.characters import Filters
from dragoman.nn.dropout import Dropout, uniform
from dragoman.nn.embedding import PlainEmbedding
from dragoman.nn.module_list import TypedModuleList
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Int, Tensor


class DeepAveragingEncoder(nn.Module):
    """z_0 = 1/n Σ e_i, z_k = tanh(W_k z_{k−1} + b_k)   (Iyyer et al. 2015, section 3).

    In training, some tokens are left out of the mean, never all (their section 3.1).
    """

    def __init__(
        self, embed: PlainEmbedding, sizes: Sequence[int], dropout: float, word_dropout: float
    ) -> None:
        super().__init__()
        self.embed = embed
        self.layers = TypedModuleList(nn.Linear(*pair) for pair in pairwise(sizes))
        self.dropout = Dropout(dropout)
        self.word_dropout = word_dropout

    def forward(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Memory:
        x = self.embed(src)
        z = mean(x, self.counted(keep) if self.training and self.word_dropout else keep)
        for layer in self.layers:
            z = self.dropout(torch.tanh(layer(z)))
        return Memory(x, keep, z)

    def counted(self, keep: Bool[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
        left = keep & (uniform(keep.numel(), keep.device).view(keep.shape) >= self.word_dropout)
        return torch.where(left.any(dim=1, keepdim=True), left, keep)

    if TYPE_CHECKING:
        __call__ = forward


class MultiKernelEncoder(nn.Module):
    """z = [z_3; z_4; z_5], z_k = max_t tanh(W_k [x_t; …; x_{t+k−1}] + b_k)   (Kim 2014, section 2)."""

    def __init__(
        self, embed: PlainEmbedding, size: int, kernels: Sequence[int], filters: int, dropout: float
    ) -> None:
        super().__init__()
        self.embed = embed
        self.filters = TypedModuleList(Filters(size, kernel, filters) for kernel in kernels)
        self.dropout = Dropout(dropout)
        self.shortest = max(kernels)

    def forward(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Memory:
        return self.read(src, keep, max(self.shortest - src.shape[1], 0))

    def read(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"], more: int) -> Memory:
        """Return the memory, of a source with `more` tokens of padding, so that each filter fits into it."""
        x = self.embed(src)
        padded = F.pad(x * keep.unsqueeze(2), (0, 0, 0, more))
        z = torch.cat([filters(padded, keep.sum(dim=1)) for filters in self.filters], dim=1)
        return Memory(x, keep, self.dropout(z))

    if TYPE_CHECKING:
        __call__ = forward
