"""Self-attention as one product of all queries and keys: the definition, without a choice of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.nn.attention.attend import window_bias
from dragoman.nn.attention.multi_head import KeyValue, SelfAttention, Shape, combine_biases, merge_heads
from dragoman.nn.attention.window import WindowedSelfAttention
from dragoman.shapes import Float, Tensor


class OneProductAttention(nn.Module):
    """The counterpart of SelfAttention, with a window or without."""

    def __init__(self, attention: SelfAttention) -> None:
        super().__init__()
        self.attention = attention
        self.heads, self.kv_heads, self.W_o = attention.heads, attention.kv_heads, attention.W_o

    def forward(
        self, x: Float[Tensor, "N D"], shape: Shape, bias: Float[Tensor, "b t T"] | None
    ) -> Float[Tensor, "N D"]:
        q, kv = self.attention.project(x, shape, 0)
        if isinstance(self.attention, WindowedSelfAttention):
            hidden = q.new_zeros(1, 1, shape[1]) if bias is None else bias
            bias = window_bias(hidden, shape[1], 0, self.attention.before, self.attention.after)
        related = self.attention.relation.bias(shape[1], shape[1], 0)
        output: Tensor = self.W_o(merge_heads(attend(q, kv, combine_biases(bias, related))))
        return output

    def step(
        self, x: Float[Tensor, "N D"], past: KeyValue, place: int
    ) -> tuple[Float[Tensor, "N D"], KeyValue]:
        q, now = self.attention.project(x, (x.shape[0], 1), place)
        seen = past.append(now)
        keys = seen.k.shape[2]
        related = self.attention.relation.bias(1, keys, keys - 1)
        return self.W_o(merge_heads(attend(q, seen, combine_biases(None, related)))), seen

    def hide_future(self, x: Float[Tensor, "N D"], steps: int) -> Float[Tensor, "1 T T"] | None:
        return self.attention.hide_future(x, steps)

    if TYPE_CHECKING:
        __call__ = forward


def attend(
    q: Float[Tensor, "B H T K"], kv: KeyValue, bias: Float[Tensor, "b h t S"] | None
) -> Float[Tensor, "B H T K"]:
    """Return softmax(QKᵀ/√d_k + bias) V, where groups of heads may share their keys and values."""
    group = q.shape[1] // kv.k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) if group > 1 else x for x in (kv.k, kv.v))
    e = q @ k.transpose(2, 3) * q.shape[3] ** -0.5
    return torch.softmax(e if bias is None else e + bias, dim=3) @ v
