"""Fast equivalents of one decoding step of attention: in small models, the number of calls sets the cost."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.fast.activations import softmax
from dragoman.shapes import Float, Int, Tensor


def self_step(
    W_qkv: nn.Linear,
    W_o: nn.Linear,
    x: Float[Tensor, "N D"],
    past_k: Float[Tensor, "M H P K"],
    past_v: Float[Tensor, "M H P K"],
    past_rows: Int[Tensor, " R"] | None = None,
) -> tuple[Float[Tensor, "N D"], Float[Tensor, "N H T K"], Float[Tensor, "N H T K"]]:
    """Do one step of self-attention of N sequences; return the output and all keys and values so far."""
    rows, heads = len(x), past_k.shape[1]
    qkv = F.linear(x, W_qkv.weight, W_qkv.bias).view(rows, 3, heads, 1, -1).transpose(0, 1).contiguous()
    q, k, v = qkv.unbind(0)
    k, v = append_step(past_k, k, past_rows), append_step(past_v, v, past_rows)
    c, _ = attend_one(q.view(rows * heads, 1, -1), k.flatten(0, 1), v.flatten(0, 1), q.new_zeros(1), 0.0)
    return F.linear(c.view(rows, -1), W_o.weight, W_o.bias), k, v


def rows_of_heads(rows: Int[Tensor, " N"], heads: int) -> Int[Tensor, " R"]:
    """Return the rows of all heads of the given sequences, where each sequence has one row per head."""
    return (rows.unsqueeze(1) * heads + torch.arange(heads, device=rows.device)).flatten()


def append_step(
    past: Float[Tensor, "M H P K"], new: Float[Tensor, "N H 1 K"], rows: Int[Tensor, " R"] | None
) -> Float[Tensor, "N H T K"]:
    """Return the past of the continued sequences with a new step appended.

    This takes one copy, where selection and `cat` take two. `rows` are the rows of all heads, as returned by
    `rows_of_heads`; None continues every sequence in order.
    """
    if rows is None:
        return torch.cat((past, new), dim=2)
    N, H, _, K = new.shape
    P = past.shape[2]
    heads = past.flatten(2).flatten(0, 1)
    if heads.requires_grad:  # `out` does not support gradients
        return torch.cat((heads.index_select(0, rows).view(N, H, P, K), new), dim=2)
    seen = past.new_empty(N, H, P + 1, K)
    torch.index_select(heads, 0, rows, out=seen.flatten(2).flatten(0, 1)[:, : P * K])
    seen[:, :, P:] = new
    return seen


def cross_step(
    W_q: nn.Linear,
    W_o: nn.Linear,
    x: Float[Tensor, "N D"],
    k: Float[Tensor, "B H S K"],
    v: Float[Tensor, "B H S K"],
    bias: Float[Tensor, "B H 1 S"],
) -> tuple[Float[Tensor, "N D"], Float[Tensor, "B H W S"]]:
    """Do one step of cross-attention of N hypotheses; return the output and the attention weights.

    The W hypotheses of a sentence attend to its memory together.
    """
    B, H, S, _ = k.shape
    W = len(x) // B
    q = F.linear(x, W_q.weight, W_q.bias).view(B, W, H, -1).transpose(1, 2).reshape(B * H, W, -1)
    c, alpha = attend_one(q, k.flatten(0, 1), v.flatten(0, 1), bias.flatten(0, 1), 1.0)
    c = c.view(B, H, W, -1).transpose(1, 2).reshape(B * W, -1)
    return F.linear(c, W_o.weight, W_o.bias), alpha.view(B, H, W, S)


def attend_one(
    q: Float[Tensor, "B T K"],
    k: Float[Tensor, "B S K"],
    v: Float[Tensor, "B S K"],
    added: Float[Tensor, "*b"],
    beta: float,
) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B T S"]]:
    """Return softmax(QKᵀ/√d_k + β · added) V of each head, and the weights."""
    e = torch.baddbmm(added, q, k.transpose(1, 2), beta=beta, alpha=q.shape[2] ** -0.5)
    alpha = softmax(e)
    return contexts(alpha, v), alpha


def contexts(alpha: Float[Tensor, "B T S"], v: Float[Tensor, "B S K"]) -> Float[Tensor, "B T K"]:
    """Return αV.

    On a CPU, torch does not vectorise matrix products of fewer than 400 multiplications. Scaling the rows of
    V and adding them takes half the time, in the same order of summation if the rows fill the CPU's vectors.
    """
    _, S, K = v.shape
    is_float = v.device.type == "cpu" and v.dtype in (torch.float32, torch.float64)
    if is_float and alpha.shape[1] == 1 and S * K < 400 and K % 32 == 0:
        return (alpha.transpose(1, 2) * v).sum(dim=1, keepdim=True)
    return torch.bmm(alpha, v)
