"""Gradients that are sums over all tokens of a batch, summed in fp32 if the model computes in bf16.

On a CPU, torch sums the gradients of LayerNorm's weight and bias, and of the rows of an embedding, in the
dtype of the model. bf16 has 8 bits of precision, so 256 + 1 is 256, and the sum of 4096 equal gradients is a
sixteenth of the true one. Here only the sum is in fp32; its terms and its result are bf16. In fp32 nothing
changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from dragoman.shapes import Float, Int, Tensor


def embedding(
    y: Int[Tensor, "*n"], W: Float[Tensor, "V E"], padding: int | None = None
) -> Float[Tensor, "*n E"]:
    """Return the row of W for each y; the row `padding` receives no gradient."""
    if is_summed_in_bf16(W):
        output: Tensor = _Embedding.apply(y, W, padding)  # type: ignore[no-untyped-call]
        return output
    return F.embedding(y, W, padding)


def layer_norm(
    x: Float[Tensor, "*n D"], g: Float[Tensor, " D"], b: Float[Tensor, " D"], eps: float
) -> Float[Tensor, "*n D"]:
    """Return g ⊙ (x − mean) / √(variance + ε) + b   (Ba et al. 2016)."""
    if is_summed_in_bf16(x):
        output: Tensor = _LayerNorm.apply(x, g, b, eps)  # type: ignore[no-untyped-call]
        return output
    return F.layer_norm(x, g.shape, g, b, eps)


def is_summed_in_bf16(x: Float[Tensor, "*n D"]) -> bool:
    return x.dtype == torch.bfloat16 and x.device.type == "cpu" and torch.is_grad_enabled()


class _Embedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, W: Tensor, padding: int | None) -> Tensor:
        ctx.save_for_backward(y)
        ctx.rows, ctx.padding = len(W), padding
        return F.embedding(y, W)

    @staticmethod
    def backward(ctx: Any, dx: Tensor) -> tuple[None, Tensor, None]:
        (y,) = ctx.saved_tensors
        words, index = y.flatten().long().unique(return_inverse=True)  # fewer rows than W
        wide = torch.promote_types(dx.dtype, torch.float32)
        sums = torch.zeros(len(words), dx.shape[-1], dtype=wide)
        sums.index_add_(0, index, dx.reshape(-1, dx.shape[-1]).to(wide))
        dW = dx.new_zeros(ctx.rows, dx.shape[-1]).index_copy_(0, words, sums.to(dx.dtype))
        if ctx.padding is not None:
            dW[ctx.padding] = 0
        return None, dW, None


class _LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, g: Tensor, b: Tensor, eps: float) -> Tensor:
        y, mean, rstd = torch.native_layer_norm(x, g.shape, g, b, eps)
        ctx.save_for_backward(x, g, b, mean, rstd)
        ctx.eps = eps
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, g, b, mean, rstd = ctx.saved_tensors
        dx, _, _ = torch.ops.aten.native_layer_norm_backward(
            dy, x, g.shape, mean, rstd, g, b, [True, False, False]
        )
        dg = F.layer_norm(x, g.shape, eps=ctx.eps).mul_(dy)
        # `sum` accumulates in fp32, whatever its input.
        return dx, dg.flatten(0, -2).sum(dim=0), dy.flatten(0, -2).sum(dim=0), None
