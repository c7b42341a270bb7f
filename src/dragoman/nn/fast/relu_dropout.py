"""dropout(relu(a)) in place: equivalent to `Dropout(rate)(relu(a))`, for the widest tensor of a Transformer.

Dropped and negative elements both become zero, so the gradient follows from the result alone: neither the
mask nor the sign has to be saved.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, mask: Tensor, scale: float) -> Tensor:
        ctx.mark_dirty(a)
        ctx.scale = scale
        h = a.clamp_min_(0.0).mul_(mask)
        ctx.save_for_backward(h)
        return h

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (h,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad, h, 0.0).mul_(ctx.scale), None, None


def relu_dropout(a: Float[Tensor, "*shape"], dropout: Dropout) -> Float[Tensor, "*shape"]:
    """Overwrite `a` with dropout(relu(a)) and return it. Nothing else may read `a`."""
    if not dropout.active:
        return F.relu(a, inplace=True)
    return _ReluDropout.apply(a, dropout.mask(a), dropout.scale)  # type: ignore[no-untyped-call]
