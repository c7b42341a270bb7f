"""Multi-head attention (Vaswani et al. 2017, section 3.2.2): of a sequence to itself, and to a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from dragoman.nn.attention.attend import scaled_dot
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.attention import sdpa, sdpa_is_faster
from dragoman.shapes import Float, Tensor


class KeyValue(NamedTuple):
    """Projected keys and values, split into heads: computed once, or one step at a time."""

    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S K"]

    def append(self, new: KeyValue) -> KeyValue:
        return KeyValue(torch.cat((self.k, new.k), dim=2), torch.cat((self.v, new.v), dim=2))


def split_heads(x: Float[Tensor, "B T D"], heads: int) -> Float[Tensor, "B H T K"]:
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def merge_heads(x: Float[Tensor, "B H T K"]) -> Float[Tensor, "B T D"]:
    return x.transpose(1, 2).flatten(2)


def mix(
    q: Float[Tensor, "B H T K"], kv: KeyValue, bias: Float[Tensor, "b t S"] | None, dropout: Dropout
) -> Float[Tensor, "B T D"]:
    """The heads' contexts side by side, by the faster of two equal kernels."""
    if sdpa_is_faster(q, kv.k) and not dropout.active:
        return merge_heads(sdpa(q, kv.k, kv.v, bias))
    return merge_heads(scaled_dot(q, kv.k, kv.v, bias, dropout)[0])


class SelfAttention(nn.Module):
    """Queries, keys and values of one sequence. W_q, W_k, W_v stand in one matrix: one product."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.W_qkv = nn.Linear(size, 3 * size)
        self.W_o = nn.Linear(size, size)
        self.dropout = Dropout(dropout)
        for W in self.W_qkv.weight.chunk(3):
            nn.init.xavier_uniform_(W)
        nn.init.xavier_uniform_(self.W_o.weight)
        nn.init.zeros_(self.W_qkv.bias)
        nn.init.zeros_(self.W_o.bias)

    def forward(
        self, x: Float[Tensor, "B T D"], bias: Float[Tensor, "b t T"] | None
    ) -> Float[Tensor, "B T D"]:
        q, k, v = self._project(x)
        return self.W_o(mix(q, KeyValue(k, v), bias, self.dropout))

    def step(self, x: Float[Tensor, "N 1 D"], past: KeyValue) -> tuple[Float[Tensor, "N 1 D"], KeyValue]:
        """One more step, which sees itself and the past."""
        q, k, v = self._project(x)
        seen = past.append(KeyValue(k, v))
        return self.W_o(mix(q, seen, None, self.dropout)), seen

    def _project(self, x: Float[Tensor, "B T D"]) -> tuple[Tensor, Tensor, Tensor]:
        # One copy puts each head's rows side by side; q, k and v are views of it.
        q, k, v = self.W_qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).contiguous()
        return q, k, v

    if TYPE_CHECKING:
        __call__ = forward


class CrossAttention(nn.Module):
    """Queries of the target, keys and values of the memory."""

    def __init__(self, size: int, memory_size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = nn.Linear(size, size)
        self.W_kv = nn.Linear(memory_size, 2 * size)
        self.W_o = nn.Linear(size, size)
        self.dropout = Dropout(dropout)
        for W in (self.W_q.weight, *self.W_kv.weight.chunk(2), self.W_o.weight):
            nn.init.xavier_uniform_(W)
        for b in (self.W_q.bias, self.W_kv.bias, self.W_o.bias):
            nn.init.zeros_(b)

    def remember(self, memory: Float[Tensor, "B S M"]) -> KeyValue:
        k, v = self.W_kv(memory).unflatten(2, (2, self.heads, -1)).permute(2, 0, 3, 1, 4).contiguous()
        return KeyValue(k, v)

    def forward(
        self, x: Float[Tensor, "B T D"], kv: KeyValue, bias: Float[Tensor, "b t S"] | None
    ) -> Float[Tensor, "B T D"]:
        return self.W_o(mix(split_heads(self.W_q(x), self.heads), kv, bias, self.dropout))

    def look(
        self, x: Float[Tensor, "B T D"], kv: KeyValue, bias: Float[Tensor, "b t S"] | None
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T S"]]:
        """The same, and where it looked: the mean of the heads' weights."""
        c, alpha = scaled_dot(split_heads(self.W_q(x), self.heads), kv.k, kv.v, bias, self.dropout)
        return self.W_o(merge_heads(c)), alpha.mean(dim=1)

    if TYPE_CHECKING:
        __call__ = forward
