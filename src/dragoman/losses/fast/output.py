"""The output layer and its loss in slices of rows, so that only one slice of logits exists at a time.

The fast equivalent of `cross_entropy.output_loss`. The gradient of softmax cross-entropy, p − target, is
known as soon as the logits are, so it is computed in the forward pass and only scaled in the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional as F

from dragoman.losses.cross_entropy import cross_entropy
from dragoman.protocols import LossSum
from dragoman.shapes import Float, Int, Tensor

_SLICE = 512  # rows, so that the logits of a slice fit into the caches of a CPU
_DEVICE_SLICE = 8192  # rows on other devices, where logits only have to fit into memory
_TINY = 1e-30


def slices(rows: int, device: torch.device) -> Iterator[slice]:
    """Yield slices of 512 rows, then of 256, 128 …: few sizes, because oneDNN compiles a kernel for each."""
    start, size = 0, _SLICE if device.type == "cpu" else min(_DEVICE_SLICE, rows)
    while start < rows:
        while size > rows - start:
            size = size // 2 if device.type == "cpu" else rows - start
        yield slice(start, start + size)
        start += size


def add_product(total: Float[Tensor, "N M"], A: Float[Tensor, "N K"], B: Float[Tensor, "K M"]) -> None:
    """Compute total += A B, with one kernel if all three have the same type."""
    if A.dtype == total.dtype:
        total.addmm_(A, B)
    else:
        total += A @ B


def append_column(x: Float[Tensor, "N D"], column: Float[Tensor, " N"]) -> Float[Tensor, "N K"]:
    """Return [x, column, 0 …], padded to a multiple of 16, so that the bias is part of the matrix product."""
    wide = F.pad(x, (0, 16 - x.shape[1] % 16))
    wide[:, x.shape[1]] = column
    return wide


def log_at(p: Float[Tensor, "N V"], z: Float[Tensor, "N V"], y: Int[Tensor, "N 1"]) -> Float[Tensor, "N 1"]:
    """Return log p_y of p = softmax(z), accurate even if p_y is too small to take from p."""
    if z.device.type != "cpu":  # without a branch that the host must wait for
        return z.gather(1, y) - z.logsumexp(dim=1, keepdim=True)
    p_y = p.gather(1, y)
    log_p_y = p_y.log()
    lost = (p_y < _TINY).squeeze(1)
    if bool(lost.any()):
        log_p_y[lost] = torch.log_softmax(z[lost], dim=1).gather(1, y[lost])
    return log_p_y


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, W: Tensor, b: Tensor, y: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        h_1, W_b = append_column(h, h.new_ones(len(h))), append_column(W, b)
        dh, dW_b = torch.empty_like(h), torch.zeros_like(W_b, dtype=torch.float32)
        nll, log_Z = h.new_zeros((), dtype=torch.float32), h.new_zeros((), dtype=torch.float32)
        for rows in slices(len(h), h.device):
            y_r = y[rows].unsqueeze(1)
            z = F.linear(h_1[rows], W_b).float()
            g = torch.softmax(z, dim=1)
            log_p_y = log_at(g, z, y_r)
            nll -= log_p_y.sum()
            log_Z += (z.gather(1, y_r) - log_p_y).sum()
            # d loss / d logits = p − target, without the uniform part of the target
            g = g.scatter_add_(1, y_r, torch.full_like(y_r, smoothing - 1.0, dtype=g.dtype)).to(h.dtype)
            torch.mm(g, W, out=dh[rows])
            add_product(dW_b, g.t(), h_1[rows])
        ctx.save_for_backward(*subtract_uniform(smoothing / len(W), h_1, W_b, dh, dW_b))
        ctx.mark_non_differentiable(nll)
        logits = h_1.sum(dim=0, dtype=torch.float32) @ W_b.sum(dim=0, dtype=torch.float32)  # summed
        return (1.0 - smoothing) * nll + smoothing * (log_Z - logits / len(W)), nll

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        dh, dW, db = ctx.saved_tensors
        return dh * grad, dW * grad, db * grad, None, None


def subtract_uniform(share: float, h_1: Tensor, W_b: Tensor, dh: Tensor, dW_b: Tensor) -> tuple[Tensor, ...]:
    """Subtract the uniform part of label smoothing, the same for all rows; return dh, dW and db."""
    size = dh.shape[1]
    dh -= share * W_b[:, :size].sum(dim=0)
    dW_b -= share * h_1.sum(dim=0, dtype=torch.float32)
    return dh, dW_b[:, :size].to(h_1.dtype), dW_b[:, size].to(h_1.dtype)


def output_loss(
    h: Float[Tensor, "N D"],
    W: Float[Tensor, "V D"],
    b: Float[Tensor, " V"],
    y: Int[Tensor, " N"],
    smoothing: float,
) -> LossSum:
    if torch.is_grad_enabled():
        kind = h.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else h.dtype
        with torch.autocast(kind, enabled=False):
            given = (x.to(dtype) for x in (h, W, b))
            return LossSum(*_OutputLoss.apply(*given, y, smoothing))  # type: ignore[no-untyped-call]
    with torch.no_grad():
        parts = [
            cross_entropy(torch.log_softmax(F.linear(h[rows], W, b).float(), dim=1), y[rows], smoothing)
            for rows in slices(len(h), h.device)
        ]
    return LossSum(*(torch.stack(sums).sum() for sums in zip(*parts, strict=True)))
