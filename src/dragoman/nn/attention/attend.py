"""α = softmax(e), c = Σ α_i v_i: the written-out definition of attention, and its masks."""

from __future__ import annotations

import torch

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Bool, Float, Tensor


def padding_bias(keep: Bool[Tensor, "B S"], dtype: torch.dtype) -> Float[Tensor, "B 1 S"]:
    """0 at real tokens, −∞ at padding: added to scores before the softmax."""
    return (
        torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill_(~keep, -torch.inf).unsqueeze(1)
    )


def causal_bias(size: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "1 T T"]:
    """−∞ above the diagonal: step t sees steps ≤ t."""
    return torch.full((size, size), -torch.inf, dtype=dtype, device=device).triu_(1).unsqueeze(0)


def attend(
    e: Float[Tensor, "B T S"], v: Float[Tensor, "B S D"]
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T S"]]:
    """The context c and the weights α."""
    alpha = torch.softmax(e, dim=-1)
    return alpha @ v, alpha  # (B T S) @ (B S D) = (B T D)


def scaled_dot(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    bias: Float[Tensor, "b t S"] | None,
    dropout: Dropout,
) -> tuple[Float[Tensor, "B H T K"], Float[Tensor, "B H T S"]]:
    """softmax(QKᵀ/√d_k + bias) V   (Vaswani et al. 2017, eq. 1)."""
    shape = (*q.shape[:3], k.shape[2])
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    added = q.new_zeros(1) if bias is None else bias.unsqueeze(1).expand(shape).flatten(0, 1)
    beta = 0.0 if bias is None else 1.0
    e = torch.baddbmm(
        added, q, k.transpose(1, 2), beta=beta, alpha=q.shape[2] ** -0.5
    )  # (BH T K) @ (BH K S) = (BH T S)
    alpha = torch.softmax(e, dim=-1)
    c = dropout(alpha) @ v  # (BH T S) @ (BH S K) = (BH T K)
    return c.unflatten(0, shape[:2]), alpha.view(shape)
