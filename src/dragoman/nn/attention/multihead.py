"""Multi-head attention (Vaswani et al. 2017, section 3.2.2): of a sequence to itself, and to a memory.

Tokens come and go flat; only here do they stand as B sentences of T tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from dragoman.nn.attention.attend import scaled_dot
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.attention import sdpa, sdpa_is_faster
from dragoman.nn.flat import lay_flat, sentences
from dragoman.shapes import Float, Tensor

Shape = tuple[int, int]  # B sentences, T tokens each


class KeyValue(NamedTuple):
    """Projected keys and values, split into heads: computed once, or one step at a time."""

    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S K"]

    def append(self, new: KeyValue) -> KeyValue:
        return KeyValue(torch.cat((self.k, new.k), dim=2), torch.cat((self.v, new.v), dim=2))


def split_heads(x: Float[Tensor, "N D"], shape: Shape, parts: int, heads: int) -> Float[Tensor, "P B H T K"]:
    """Products that stand side by side, taken apart: one copy puts each head's rows together."""
    return sentences(x, shape).unflatten(2, (parts, heads, -1)).permute(2, 0, 3, 1, 4).contiguous()


def merge_heads(x: Float[Tensor, "B H T K"]) -> Float[Tensor, "N D"]:
    return lay_flat(x.transpose(1, 2).flatten(2))


def mix(
    q: Float[Tensor, "B H T K"], kv: KeyValue, bias: Float[Tensor, "b t S"] | None, dropout: Dropout
) -> Float[Tensor, "N D"]:
    """The heads' contexts side by side, by the faster of two equal kernels."""
    if sdpa_is_faster(q, kv.k) and not dropout.active:
        return merge_heads(sdpa(q, kv.k, kv.v, bias))
    return merge_heads(scaled_dot(q, kv.k, kv.v, bias, dropout)[0])


def projection(input_size: int, size: int, parts: int) -> nn.Linear:
    """`parts` matrices on top of each other: one product, each drawn as a matrix of its own."""
    W = nn.Linear(input_size, parts * size)
    for part in W.weight.chunk(parts):
        nn.init.xavier_uniform_(part)
    nn.init.zeros_(W.bias)
    return W


class SelfAttention(nn.Module):
    """Queries, keys and values of one sequence."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.W_qkv = projection(size, size, 3)
        self.W_o = projection(size, size, 1)
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, bias: Float[Tensor, "b t T"] | None
    ) -> Float[Tensor, "N D"]:
        q, k, v = split_heads(self.W_qkv(x), shape, 3, self.heads)
        return self.W_o(mix(q, KeyValue(k, v), bias, self.dropout))

    def step(self, x: Float[Tensor, "N D"], past: KeyValue) -> tuple[Float[Tensor, "N D"], KeyValue]:
        """One more step of N sequences, which sees itself and the past."""
        q, k, v = split_heads(self.W_qkv(x), (len(x), 1), 3, self.heads)
        seen = past.append(KeyValue(k, v))
        return self.W_o(mix(q, seen, None, self.dropout)), seen

    if TYPE_CHECKING:
        __call__ = forward


class CrossAttention(nn.Module):
    """Queries of the target, keys and values of the memory."""

    def __init__(self, size: int, memory_size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.W_q = projection(size, size, 1)
        self.W_kv = projection(memory_size, size, 2)
        self.W_o = projection(size, size, 1)
        self.dropout = Dropout(dropout)

    def remember(self, memory: Float[Tensor, "N M"], shape: Shape) -> KeyValue:
        k, v = split_heads(self.W_kv(memory), shape, 2, self.heads)
        return KeyValue(k, v)

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "b t S"] | None
    ) -> Float[Tensor, "N D"]:
        (q,) = split_heads(self.W_q(x), shape, 1, self.heads)
        return self.W_o(mix(q, kv, bias, self.dropout))

    def look(
        self, x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "b t S"] | None
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "B T S"]]:
        """The same, and where it looked: the mean of the heads' weights."""
        (q,) = split_heads(self.W_q(x), shape, 1, self.heads)
        c, alpha = scaled_dot(q, kv.k, kv.v, bias, self.dropout)
        return self.W_o(merge_heads(c)), alpha.mean(dim=1)

    if TYPE_CHECKING:
        __call__ = forward
