"""Multi-head attention (Vaswani et al. 2017, section 3.2.2): of a sequence to itself, and to a memory.

Tokens come and go flat; only here do they stand as B sentences of T tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torch import nn

from dragoman.nn.attention.attend import causal_bias, scaled_dot
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.attention import sdpa, sdpa_is_faster
from dragoman.nn.fast.decode_step import append_step, cross_step, self_step
from dragoman.nn.position import NoRelativePositions, RelativePositions
from dragoman.nn.token_rows import from_rows, to_rows
from dragoman.shapes import Float, Int, Tensor

Shape = tuple[int, int]  # B sentences, T tokens each


class KeyValue(NamedTuple):
    """Projected keys and values, split into heads: computed once, or one step at a time.

    Where `rows` are given, these of all heads go on: see `append_step`.
    """

    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S K"]
    rows: Int[Tensor, " R"] | None = None

    def append(self, new: KeyValue) -> KeyValue:
        return KeyValue(append_step(self.k, new.k, self.rows), append_step(self.v, new.v, self.rows))

    def last(self, count: int) -> KeyValue:
        return KeyValue(self.k[:, :, -count:], self.v[:, :, -count:])


def split_heads(x: Float[Tensor, "N D"], shape: Shape, parts: int, heads: int) -> Float[Tensor, "P B H T K"]:
    """Products that stand side by side, taken apart: one copy puts each head's rows together."""
    return from_rows(x, shape).unflatten(2, (parts, heads, -1)).permute(2, 0, 3, 1, 4).contiguous()


def split_unequal(x: Float[Tensor, "N D"], shape: Shape, heads: Sequence[int]) -> list[Tensor]:
    """The same where each product has a number of heads of its own."""
    features = x.shape[1] // sum(heads)
    products = x.split([count * features for count in heads], dim=1)
    return [split_heads(part, shape, 1, count)[0] for part, count in zip(products, heads, strict=True)]


def merge_heads(x: Float[Tensor, "B H T K"]) -> Float[Tensor, "N D"]:
    return to_rows(x.transpose(1, 2).flatten(2))


def combine_biases(
    bias: Float[Tensor, "b t S"] | None, related: Float[Tensor, "H u S"] | None
) -> Float[Tensor, "b h v S"] | None:
    """What hides tokens from all heads, and what each head adds to its scores."""
    if related is None:
        return None if bias is None else bias.unsqueeze(1)
    return related.unsqueeze(0) if bias is None else bias.unsqueeze(1) + related


def attend_heads(
    q: Float[Tensor, "B H T K"], kv: KeyValue, bias: Float[Tensor, "b h t S"] | None, dropout: Dropout
) -> Float[Tensor, "B H T K"]:
    """The heads' contexts, by the faster of two equal kernels."""
    if sdpa_is_faster(q, kv.k) and not dropout.active:
        return sdpa(q, kv.k, kv.v, bias)
    return scaled_dot(q, kv.k, kv.v, bias, dropout)[0]


def projection(input_size: int, *sizes: int) -> nn.Linear:
    """Matrices on top of each other: one product, each drawn as a matrix of its own."""
    W = nn.Linear(input_size, sum(sizes))
    for part in W.weight.split(sizes):
        nn.init.xavier_uniform_(part)
    nn.init.zeros_(W.bias)
    return W


class SelfAttention(nn.Module):
    """Queries, keys and values of one sequence; `kv_heads` keys and values, shared by the heads in groups."""

    def __init__(
        self,
        size: int,
        heads: int,
        dropout: float,
        *,
        kv_heads: int | None = None,
        relation: RelativePositions | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.kv_heads = kv_heads or heads
        shared = size // heads * self.kv_heads
        self.W_qkv = projection(size, size, shared, shared)
        self.W_o = projection(size, size)
        self.relation = relation or NoRelativePositions()
        self.dropout = Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, bias: Float[Tensor, "b t T"] | None
    ) -> Float[Tensor, "N D"]:
        q, kv = self.project(x, shape, 0)
        added = combine_biases(bias, self.relation.bias(shape[1], shape[1], 0))
        return self.W_o(merge_heads(attend_heads(q, kv, added, self.dropout)))

    def step(
        self, x: Float[Tensor, "N D"], past: KeyValue, place: int
    ) -> tuple[Float[Tensor, "N D"], KeyValue]:
        """One more step of N sequences, at this place, which sees itself and the past."""
        if self.is_plain:
            c, k, v = self_step(self.W_qkv, self.W_o, x, *past)
            return c, KeyValue(k, v)
        q, now = self.project(x, (len(x), 1), place)
        seen = past.append(now)
        keys = seen.k.shape[2]
        added = combine_biases(None, self.relation.bias(1, keys, keys - 1))
        c = merge_heads(attend_heads(q, seen, added, self.dropout))[: len(x)]  # bf16 rows were filled up
        return self.W_o(c), seen

    @property
    def is_plain(self) -> bool:
        """A key for each query, and nothing between scores and contexts but the softmax."""
        one_each = self.kv_heads == self.heads
        return one_each and isinstance(self.relation, NoRelativePositions) and not self.dropout.active

    def project(
        self, x: Float[Tensor, "N D"], shape: Shape, start: int
    ) -> tuple[Float[Tensor, "B H T K"], KeyValue]:
        qkv = self.W_qkv(x)
        if self.kv_heads == self.heads:
            q, k, v = split_heads(qkv, shape, 3, self.heads)
        else:
            q, k, v = split_unequal(qkv, shape, (self.heads, self.kv_heads, self.kv_heads))
        return self.relation.turn(q, start), KeyValue(self.relation.turn(k, start), v)

    def hide_future(self, x: Float[Tensor, "N D"], steps: int) -> Float[Tensor, "1 T T"] | None:
        """The bias of a decoder's whole target."""
        return causal_bias(steps, x.dtype, x.device)

    if TYPE_CHECKING:
        __call__ = forward


class CrossAttention(nn.Module):
    """Queries of the target, keys and values of the memory."""

    def __init__(
        self, size: int, memory_size: int, heads: int, dropout: float, *, kv_heads: int | None = None
    ) -> None:
        super().__init__()
        self.heads = heads
        self.kv_heads = kv_heads or heads
        shared = size // heads * self.kv_heads
        self.W_q = projection(size, size)
        self.W_kv = projection(memory_size, shared, shared)
        self.W_o = projection(size, size)
        self.dropout = Dropout(dropout)

    def remember(self, memory: Float[Tensor, "N M"], shape: Shape) -> KeyValue:
        k, v = split_heads(self.W_kv(memory), shape, 2, self.kv_heads)
        return KeyValue(k, v)

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "b t S"] | None
    ) -> Float[Tensor, "N D"]:
        (q,) = split_heads(self.W_q(x), shape, 1, self.heads)
        return self.W_o(merge_heads(attend_heads(q, kv, combine_biases(bias, None), self.dropout)))

    def look(
        self, x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "B H 1 S"]
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "B H T S"]]:
        """The same, and where each head looked; the bias stands ready for every head."""
        if self.kv_heads == self.heads and not self.dropout.active:
            return cross_step(self.W_q, self.W_o, x, kv.k, kv.v, bias)
        (q,) = split_heads(self.W_q(x), shape, 1, self.heads)
        c, alpha = scaled_dot(q, kv.k, kv.v, bias, self.dropout)
        return self.W_o(merge_heads(c)[: len(x)]), alpha

    if TYPE_CHECKING:
        __call__ = forward
