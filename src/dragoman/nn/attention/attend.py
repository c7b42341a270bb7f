"""α = softmax(e), c = Σ α_i v_i: the definition of attention, and its masks."""

from __future__ import annotations

import torch

from dragoman.nn.dropout import Dropout
from dragoman.nn.position import distances
from dragoman.shapes import Bool, Float, Tensor


def padding_bias(keep: Bool[Tensor, "B S"], dtype: torch.dtype) -> Float[Tensor, "B 1 S"]:
    """Return 0 at real tokens and −∞ at padding, to be added to the scores before the softmax."""
    return (
        torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, -torch.inf).unsqueeze(1)
    )


def has_no_padding(keep: Bool[Tensor, "B S"]) -> bool:
    """Return whether all tokens are known to be real.

    On other devices than a CPU this is False: the answer would make the host wait for the device, which costs
    more than to handle padding where there is none.
    """
    return keep.device.type == "cpu" and bool(keep.all())


def causal_bias(size: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "1 T T"]:
    """Return −∞ above the diagonal, so that step t sees steps ≤ t."""
    return torch.full((size, size), -torch.inf, dtype=dtype, device=device).triu_(1).unsqueeze(0)


def window_bias(
    hidden: Float[Tensor, "b 1 S"], queries: int, first: int, before: int, after: int
) -> Float[Tensor, "b T S"]:
    """Return −∞ outside of `before` steps back and `after` steps ahead, and wherever `hidden` is −∞.

    `first` is the key index of the first query. A token always sees itself: in the padding far after the end
    of a short sentence everything else is masked, and a softmax over no keys is NaN.
    """
    distance = distances(queries, hidden.shape[2], first, hidden.device)
    outside = (distance < -before) | (distance > after)
    return hidden.masked_fill(outside, -torch.inf).masked_fill(distance == 0, 0.0)


def attend(
    e: Float[Tensor, "B T S"], v: Float[Tensor, "B S D"]
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T S"]]:
    """Return the context c and the weights α."""
    alpha = torch.softmax(e, dim=-1)
    return alpha @ v, alpha  # (B T S) @ (B S D) = (B T D)


def scaled_dot(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "B G S K"],
    v: Float[Tensor, "B G S K"],
    bias: Float[Tensor, "b h t S"] | None,
    dropout: Dropout,
) -> tuple[Float[Tensor, "B H T K"], Float[Tensor, "B H T S"]]:
    """Return softmax(QKᵀ/√d_k + bias) V   (Vaswani et al. 2017, eq. 1), and the weights.

    With fewer key heads than query heads (Ainslie et al. 2023), the queries of the H/G heads that share a
    key head are stacked, as more queries of one product.
    """
    shape, rows = (*q.shape[:3], k.shape[2]), k.shape[0] * k.shape[1]
    q, k, v = q.reshape(rows, -1, q.shape[3]), k.flatten(0, 1), v.flatten(0, 1)
    added = q.new_zeros(1) if bias is None else bias.expand(shape).reshape(rows, -1, shape[3])
    beta = 0.0 if bias is None else 1.0
    # (BG RT K) @ (BG K S) = (BG RT S)
    e = torch.baddbmm(added, q, k.transpose(1, 2), beta=beta, alpha=q.shape[2] ** -0.5)
    alpha = torch.softmax(e, dim=-1)
    c = dropout(alpha) @ v  # (BG RT S) @ (BG S K) = (BG RT K)
    return c.view(*shape[:3], -1), alpha.view(shape)
