"""Fast equivalents of `attend.scaled_dot`: torch's kernel for long sequences and GPUs, blocks for windows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional as F
from torch.nn.functional import scaled_dot_product_attention

from dragoman.nn.attention.attend import window_bias
from dragoman.nn.dropout import Dropout, seed_device
from dragoman.shapes import Float, Tensor

# On a CPU `scaled_dot` is faster below about this many scores per sentence and head; sentences have ~20².
_LONG = 128 * 128
# In blocks shorter than this, the overhead exceeds the cost of the product.
_BLOCK = 16


def sdpa(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "B G S K"],
    v: Float[Tensor, "B G S K"],
    bias: Float[Tensor, "b h t S"] | None,
    dropout: Dropout,
) -> Float[Tensor, "B H T K"]:
    rate = dropout.rate if dropout.active else 0.0
    if rate:
        seed_device()
    return scaled_dot_product_attention(
        q, k, v, attn_mask=bias, dropout_p=rate, enable_gqa=q.shape[1] != k.shape[1]
    )


def sdpa_is_faster(q: Float[Tensor, "B H T K"], k: Float[Tensor, "B G S K"], dropout: Dropout) -> bool:
    """Return whether to use torch's kernel. On a CPU, its dropout is slow, and not drawn from our stream."""
    if q.device.type != "cpu":
        return q.shape[2] > 1
    return q.shape[2] > 1 and not dropout.active and q.shape[2] * k.shape[2] >= _LONG


class Blocks(NamedTuple):
    """Sentences cut into N blocks of R queries, with the keys from `before` to `after` these queries."""

    q: Float[Tensor, "N H R K"]
    k: Float[Tensor, "N G P K"]
    v: Float[Tensor, "N G P K"]
    bias: Float[Tensor, "N R P"]


def cut(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "B G T K"],
    v: Float[Tensor, "B G T K"],
    hidden: Float[Tensor, "b 1 T"] | None,
    before: int,
    after: int,
) -> Blocks:
    """Cut sentences into blocks, in which attention under `window_bias` costs n · r.

    A query is compared only with the keys of its neighbourhood.
    """
    size = block_size(before)
    fill = -q.shape[2] % size
    span = before + size + after
    if hidden is None:
        hidden = q.new_zeros(1, 1, q.shape[2])
    ends = F.pad(hidden.expand(len(q), 1, -1), (before, fill + after), value=-torch.inf)
    return Blocks(
        F.pad(q, (0, 0, 0, fill)).unflatten(2, (-1, size)).transpose(1, 2).flatten(0, 1),
        neighbourhoods(F.pad(k, (0, 0, before, fill + after)), size, span),
        neighbourhoods(F.pad(v, (0, 0, before, fill + after)), size, span),
        window_bias(ends.unfold(2, span, size).transpose(1, 2).flatten(0, 1), size, before, before, after),
    )


def neighbourhoods(x: Float[Tensor, "B G S K"], size: int, span: int) -> Float[Tensor, "N G P K"]:
    return x.unfold(2, span, size).permute(0, 2, 1, 4, 3).flatten(0, 1)


def uncut(c: Float[Tensor, "N H R K"], sentences: int, steps: int) -> Float[Tensor, "B H T K"]:
    return c.unflatten(0, (sentences, -1)).transpose(1, 2).flatten(2, 3)[:, :, :steps]


def block_size(before: int) -> int:
    return max(before, _BLOCK)


def blocks_are_faster(steps: int, before: int, after: int) -> bool:
    return steps > block_size(before) + before + after
