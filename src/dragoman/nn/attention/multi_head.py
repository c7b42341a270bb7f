"""Multi-head attention (Vaswani et al. 2017, section 3.2.2): self-attention, and attention to a memory.

Inputs and outputs are flat rows of tokens; they are reshaped to B sentences of T tokens only here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from dragoman.nn.attention.attend import causal_bias, scaled_dot
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.attention import sdpa, sdpa_is_faster
from dragoman.nn.position import NoRelativePositions, RelativePositions
from dragoman.shapes import Float, Int, Tensor

Shape = tuple[int, int]  # B sentences, T tokens each


class KeyValue(NamedTuple):
    """Projected keys and values, split into heads, computed once or one step at a time.

    If `rows` is given, only these sequences are continued, in this order.
    """

    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S K"]
    rows: Int[Tensor, " N"] | None = None

    def append(self, new: KeyValue) -> KeyValue:
        k, v = self.k, self.v
        if self.rows is not None:
            k, v = k.index_select(0, self.rows), v.index_select(0, self.rows)
        return KeyValue(torch.cat((k, new.k), dim=2), torch.cat((v, new.v), dim=2))

    def last(self, count: int) -> KeyValue:
        return KeyValue(self.k[:, :, -count:], self.v[:, :, -count:])


def split_heads(x: Float[Tensor, "N D"], shape: Shape, parts: int, heads: int) -> Float[Tensor, "P B H T K"]:
    """Split concatenated projections into parts and heads, with one copy that makes each head contiguous."""
    return x.view(*shape, parts, heads, -1).permute(2, 0, 3, 1, 4).contiguous()


def split_unequal(x: Float[Tensor, "N D"], shape: Shape, heads: Sequence[int]) -> list[Tensor]:
    """Split concatenated projections whose numbers of heads differ."""
    features = x.shape[1] // sum(heads)
    products = x.split([count * features for count in heads], dim=1)
    return [split_heads(part, shape, 1, count)[0] for part, count in zip(products, heads, strict=True)]


def merge_heads(x: Float[Tensor, "B H T K"]) -> Float[Tensor, "N D"]:
    return x.transpose(1, 2).flatten(2).flatten(0, 1)


def combine_biases(
    bias: Float[Tensor, "b t S"] | None, related: Float[Tensor, "H u S"] | None
) -> Float[Tensor, "b h v S"] | None:
    """Return the sum of the mask, which all heads share, and the relative bias of each head."""
    if related is None:
        return None if bias is None else bias.unsqueeze(1)
    return related.unsqueeze(0) if bias is None else bias.unsqueeze(1) + related


def attend_heads(
    q: Float[Tensor, "B H T K"], kv: KeyValue, bias: Float[Tensor, "b h t S"] | None, dropout: Dropout
) -> Float[Tensor, "B H T K"]:
    """Return the contexts of the heads, by the faster of two equivalent kernels."""
    if sdpa_is_faster(q, kv.k, dropout):
        return sdpa(q, kv.k, kv.v, bias, dropout)
    return scaled_dot(q, kv.k, kv.v, bias, dropout)[0]


def projection(input_size: int, *sizes: int) -> nn.Linear:
    """Return stacked matrices, applied as one product but each initialised separately."""
    W = nn.Linear(input_size, sum(sizes))
    for part in W.weight.split(sizes):
        nn.init.xavier_uniform_(part)
    nn.init.zeros_(W.bias)
    return W


class SelfAttention(nn.Module):
    """Self-attention. Groups of heads share the `kv_heads` heads of keys and values."""

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
        return self.W_o(merge_heads(attend_heads(q, kv, self.score_bias(q, bias), self.dropout)))

    def score_bias(
        self, q: Float[Tensor, "B H T K"], bias: Float[Tensor, "b t T"] | None
    ) -> Float[Tensor, "b h u T"] | None:
        """Return what is added to the scores of these queries: the mask, and the relative positions."""
        return combine_biases(bias, self.relation.bias(q.shape[2], q.shape[2], 0))

    def step(
        self, x: Float[Tensor, "N D"], past: KeyValue, place: int
    ) -> tuple[Float[Tensor, "N D"], KeyValue]:
        """Do one step of N sequences at position `place`, which sees itself and the past."""
        q, now = self.project(x, (len(x), 1), place)
        seen = past.append(now)
        keys = seen.k.shape[2]
        added = combine_biases(None, self.relation.bias(1, keys, keys - 1))
        return self.W_o(merge_heads(attend_heads(q, seen, added, self.dropout))), seen

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
        """Return the bias that hides later steps from a decoder."""
        return causal_bias(steps, x.dtype, x.device)

    if TYPE_CHECKING:
        __call__ = forward


class CrossAttention(nn.Module):
    """Attention with queries from the target, and keys and values from the memory."""

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

    def project_memory(self, memory: Float[Tensor, "N M"], shape: Shape) -> KeyValue:
        k, v = split_heads(self.W_kv(memory), shape, 2, self.kv_heads)
        return KeyValue(k, v)

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "b t S"] | None
    ) -> Float[Tensor, "N D"]:
        (q,) = split_heads(self.W_q(x), shape, 1, self.heads)
        return self.W_o(merge_heads(attend_heads(q, kv, combine_biases(bias, None), self.dropout)))

    def forward_with_weights(
        self, x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "B H 1 S"]
    ) -> tuple[Float[Tensor, "N D"], Float[Tensor, "B H T S"]]:
        """Return the output and the attention weights of each head; the bias is expanded to all heads."""
        (q,) = split_heads(self.W_q(x), shape, 1, self.heads)
        c, alpha = scaled_dot(q, kv.k, kv.v, bias, self.dropout)
        return self.W_o(merge_heads(c)), alpha

    if TYPE_CHECKING:
        __call__ = forward
