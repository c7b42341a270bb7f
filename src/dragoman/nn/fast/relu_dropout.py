"""dropout(relu(a)) in place: the twin of `Dropout(rate)(relu(a))` for the widest tensor of a Transformer.

What is dropped and what is negative end as the same zeros, so the result alone tells the gradient where
to pass: neither mask nor sign has to be kept.
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
    """Overwrites `a`, which must be a fresh product that nothing else reads."""
    if not dropout.active:
        return F.relu(a, inplace=True)
    return _ReluDropout.apply(a, dropout.mask(a), dropout.scale)  # type: ignore[no-untyped-call]
