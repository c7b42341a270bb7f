"""The output layer and its loss in slices of rows, so that no more than a slice of logits ever exists.

The fast twin of `cross_entropy.output_loss`. The gradient of softmax cross-entropy, p − target, is known
as soon as the logits are, so it is multiplied out in the forward pass and only scaled in the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional as F

from dragoman.losses.cross_entropy import cross_entropy
from dragoman.protocols import LossSum
from dragoman.shapes import Float, Int, Tensor

_SLICE = 512  # rows: the logits of a slice stay near the caches


def slices(rows: int) -> Iterator[slice]:
    """Slices of 512 rows, then of 256, 128 …: few sizes, for oneDNN compiles a kernel for each."""
    start, size = 0, _SLICE
    while start < rows:
        while size > rows - start:
            size //= 2
        yield slice(start, start + size)
        start += size


def add_product(total: Float[Tensor, "N M"], A: Float[Tensor, "N K"], B: Float[Tensor, "K M"]) -> None:
    """total += A B, by one kernel where all three are of one type."""
    if A.dtype == total.dtype:
        total.addmm_(A, B)
    else:
        total += A @ B


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, h: Tensor, W: Tensor, b: Tensor, y: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        dh = torch.empty_like(h)
        dW, db = (torch.zeros_like(x, dtype=torch.float32) for x in (W, b))
        nll, spread = h.new_zeros((), dtype=torch.float32), h.new_zeros((), dtype=torch.float32)
        for rows in slices(len(h)):
            y_r = y[rows].unsqueeze(1)
            log_p = torch.log_softmax(F.linear(h[rows], W, b).float(), dim=1)
            nll -= log_p.gather(1, y_r).sum()
            spread -= log_p.sum()
            g = log_p.exp_()  # d loss / d logits = p − target, but for the target's even share
            g.scatter_add_(1, y_r, torch.full_like(y_r, smoothing - 1.0, dtype=g.dtype))
            db += g.sum(dim=0)
            g = g.to(h.dtype)
            torch.mm(g, W, out=dh[rows])
            add_product(dW, g.t(), h[rows])
        share = smoothing / W.shape[0]  # the same in every row and column, so subtracted once
        dh -= share * W.sum(dim=0)
        dW -= share * h.sum(dim=0, dtype=torch.float32)
        db -= share * len(h)
        ctx.save_for_backward(dh, dW.to(W.dtype), db.to(b.dtype))
        ctx.mark_non_differentiable(nll)
        return (1.0 - smoothing) * nll + smoothing / W.shape[0] * spread, nll

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        dh, dW, db = ctx.saved_tensors
        return dh * grad, dW * grad, db * grad, None, None


def output_loss(
    h: Float[Tensor, "N D"],
    W: Float[Tensor, "V D"],
    b: Float[Tensor, " V"],
    y: Int[Tensor, " N"],
    smoothing: float,
) -> LossSum:
    if torch.is_grad_enabled():
        return LossSum(*_OutputLoss.apply(h, W, b, y, smoothing))  # type: ignore[no-untyped-call]
    with torch.no_grad():
        parts = [
            cross_entropy(torch.log_softmax(F.linear(h[rows], W, b).float(), dim=1), y[rows], smoothing)
            for rows in slices(len(h))
        ]
    return LossSum(*(torch.stack(sums).sum() for sums in zip(*parts, strict=True)))
