"""log p(y | h) = log_softmax(W h + b): a softmax over the vocabulary. W may be an embedding matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.losses.fast.output import output_loss
from dragoman.protocols import LossSum
from dragoman.shapes import Float, Int, Tensor


class TokenHead(nn.Module):
    def __init__(self, W: nn.Parameter, smoothing: float) -> None:
        super().__init__()
        self.W = W
        self.b = nn.Parameter(torch.zeros(W.shape[0]))
        self.smoothing = smoothing

    def forward(self, h: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        return torch.log_softmax(F.linear(h, self.W, self.b), dim=1, dtype=torch.float32)

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> LossSum:
        return output_loss(h, self.W, self.b, y, self.smoothing)

    if TYPE_CHECKING:
        __call__ = forward
