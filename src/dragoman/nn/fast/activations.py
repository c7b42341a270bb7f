"""Fast equivalents of two activations: `torch.softmax(e, dim=-1)` and `Dropout(rate)(relu(a))`."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from dragoman.nn.dropout import Dropout
from dragoman.shapes import Float, Tensor

VECTOR = {torch.float32: 16, torch.bfloat16: 32}  # elements in 512 bits
MIN_KEYS = 4  # below this, padding gains nothing


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
    """Overwrite `a` with dropout(relu(a)) and return it. Nothing else may read `a`.

    Dropped and negative elements both become zero, so the gradient follows from the result alone: neither the
    mask nor the sign has to be saved. `a` is the widest tensor of a Transformer.
    """
    if not dropout.active:
        return F.relu(a, inplace=True)
    return _ReluDropout.apply(a, dropout.mask(a), dropout.scale)  # type: ignore[no-untyped-call]


def softmax(e: Float[Tensor, "*b S"]) -> Float[Tensor, "*b S"]:
    """Return the softmax over few keys.

    On a CPU, torch does not vectorise rows that are shorter than a vector register, and most sentences are.
    Padding a row with −∞, which has weight 0, takes a fifth of the time, forward and backward.
    """
    S, width = e.shape[-1], VECTOR.get(e.dtype, 0)
    if e.device.type != "cpu" or not MIN_KEYS <= S < width:
        return torch.softmax(e, dim=-1)
    return torch.softmax(F.pad(e, (0, width - S), value=-torch.inf), dim=-1)[..., :S]
