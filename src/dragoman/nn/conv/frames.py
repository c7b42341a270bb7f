"""Frames to vectors: convolutions over time and over the numbers of a frame, which make a sequence shorter.

A picture or a sound has many more frames than letters, and neighbours are alike. What is beyond the end of an
example is set to zero before each convolution, which is what a convolution reads beyond the end of a batch:
an example has the same vectors alone and beside a longer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from torch import nn
from torch.nn import functional as F

from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.norm import LayerNorm
from dragoman.shapes import Bool, Float, Tensor


class StridedConvolution(nn.Module):
    """max(0, K ∗ x + b) at every second place, with kernels of 3 × 3   (Dong et al. 2018, section 3.2).

    `stride` is that over time: 2, or 1 to keep the length.
    """

    def __init__(self, read: int, channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.K = kernels(read, channels, (stride, 2))

    def forward(
        self, x: Float[Tensor, "B X S F"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B C M K"], Bool[Tensor, "B M"]]:
        return F.relu(self.K(real(x, keep))), keep[:, :: self.stride]

    if TYPE_CHECKING:
        __call__ = forward


class PooledConvolution(nn.Module):
    """The largest of 2 × 2 neighbours in max(0, K ∗ x + b), with kernels of 3 × 3   (Shi et al. 2017).

    `stride` is the number of neighbours over time: 2, or 1 to keep the length.
    """

    def __init__(self, read: int, channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.K = kernels(read, channels, (1, 1))

    def forward(
        self, x: Float[Tensor, "B X S F"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B C M K"], Bool[Tensor, "B M"]]:
        # A zero beyond the end is never larger than its neighbour, max(0, …).
        x = real(F.relu(self.K(real(x, keep))), keep)
        return F.max_pool2d(x, (self.stride, 2), ceil_mode=True), keep[:, :: self.stride]

    if TYPE_CHECKING:
        __call__ = forward


class FrameConvolutions(nn.Module):
    """LayerNorm(W [x_t^1; …; x_t^C]), where x^c is channel c of the last convolution."""

    def __init__(
        self, layers: Sequence[StridedConvolution | PooledConvolution], features: int, size: int
    ) -> None:
        super().__init__()
        self.layers = TypedModuleList(layers)
        channels = layers[-1].K.out_channels
        self.W = nn.Linear(channels * -(-features // 2 ** len(layers)), size, bias=False)
        self.norm = LayerNorm(size)

    def forward(
        self, x: Float[Tensor, "B S F"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B M D"], Bool[Tensor, "B M"]]:
        x = x.to(self.W.weight.dtype).unsqueeze(1)
        for layer in self.layers:
            x, keep = layer(x, keep)
        return self.norm(self.W(x.transpose(1, 2).flatten(2))), keep

    if TYPE_CHECKING:
        __call__ = forward


class FrameProjection(nn.Module):
    """W x_t + b: one vector per frame."""

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.W = nn.Linear(features, size)

    def forward(
        self, x: Float[Tensor, "B S F"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
        return self.W(x.to(self.W.weight.dtype)), keep

    if TYPE_CHECKING:
        __call__ = forward


def kernels(read: int, channels: int, stride: tuple[int, int]) -> nn.Conv2d:
    """Return kernels of 3 × 3 that keep the variance of what they read through max(0, x)   (He et al. 2015).

    With smaller ones CTC predicts blanks alone for hundreds of updates.
    """
    K = nn.Conv2d(read, channels, 3, stride=stride, padding=1)
    nn.init.kaiming_normal_(K.weight, nonlinearity="relu")
    nn.init.zeros_(cast("Tensor", K.bias))
    return K


def real(x: Float[Tensor, "B C S F"], keep: Bool[Tensor, "B S"]) -> Float[Tensor, "B C S F"]:
    """Return x with zeros beyond the end of each example."""
    return x * keep[:, None, :, None]


def strides(layers: int, halvings: int) -> list[int]:
    """Return the stride over time of each layer: the first ones halve the length."""
    return [2] * halvings + [1] * (layers - halvings)


def convolutions(
    kind: type[StridedConvolution] | type[PooledConvolution], channels: Sequence[int], halvings: int
) -> list[StridedConvolution | PooledConvolution]:
    steps = zip(pairwise((1, *channels)), strides(len(channels), halvings), strict=True)
    return [kind(read, count, stride) for (read, count), stride in steps]
