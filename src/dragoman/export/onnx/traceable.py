"""Traceable counterparts of our modules: the same equations without data-dependent control flow.

Recurrent layers become one operator, weight norm is folded into the weights, and character embeddings become
tables.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.export.onnx.operators import Recurrence
from dragoman.export.onnx.traceable_attention import OneProductAttention
from dragoman.models.encoders.conv import ConvEncoder
from dragoman.models.encoders.sentence import MultiKernelEncoder
from dragoman.nn.attention.multi_head import SelfAttention
from dragoman.nn.cells.cell import CellState
from dragoman.nn.characters import CharacterCNN, SpellingCNN
from dragoman.nn.conv.frames import PooledConvolution, real
from dragoman.nn.conv.gated import GatedConvolution, glu
from dragoman.nn.conv.sentence_model import SentenceModel, convolve_features, first
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Float, Int, Tensor

Model = TypeVar("Model", bound=nn.Module)


def traceable(model: Model) -> Model:
    """Return a copy of the model that can be traced."""
    model = deepcopy(model).eval().requires_grad_(False)
    for module in model.modules():
        if isinstance(getattr(module, "matrix", None), CharacterCNN):
            spell_out(module)
    replace(model, counterpart)
    encoder = getattr(model, "encoder", None)
    if isinstance(encoder, nn.Module):
        replace(encoder, counterpart_in_encoder)
        model.encoder = counterpart_in_encoder(encoder) or encoder
    return model


def replace(module: nn.Module, counterpart: Callable[[nn.Module], nn.Module | None]) -> None:
    """Replace all modules within this one that have a counterpart, from the inside out."""
    for name, child in list(module.named_children()):
        replace(child, counterpart)
        if (new := counterpart(child)) is not None:
            setattr(module, name, new)


def counterpart(module: nn.Module) -> nn.Module | None:
    match module:
        case WeightNormed():
            return MultipliedOut(module)
        case SelfAttention():
            return OneProductAttention(module)
        case SpellingCNN():
            return PaddedSpelling(module)
        case MultiKernelEncoder():
            return PaddedKernels(module)
        case PooledConvolution():
            return PaddedPooling(module)
    return None


def counterpart_in_encoder(module: nn.Module) -> nn.Module | None:
    match module:
        case BidirectionalLayer():
            return BothWays(module)
        case RecurrentLayer():
            return OneWay(module)
        case GatedConvolution():
            return SideBySide(module)
        case SentenceModel():
            return AllColumns(module)
        case ConvEncoder():
            return MaskedConvEncoder(module)
    return None


def spell_out(module: nn.Module) -> None:
    matrix = module.matrix
    assert isinstance(matrix, CharacterCNN)
    table = matrix.vectors(torch.arange(len(matrix.spelling)))
    del module.matrix
    module.matrix = nn.Parameter(table, requires_grad=False)


class MultipliedOut(nn.Module):
    """The counterpart of WeightNormed, with W = g v / ‖v‖ as an ordinary matrix."""

    def __init__(self, module: WeightNormed) -> None:
        super().__init__()
        self.W = nn.Parameter(module.matrix(), requires_grad=False)
        self.b = module.b

    def forward(self, x: Float[Tensor, "*n X"]) -> Float[Tensor, "*n Y"]:
        return F.linear(x, self.W, self.b)

    if TYPE_CHECKING:
        __call__ = forward


class BothWays(nn.Module):
    """The counterpart of BidirectionalLayer."""

    def __init__(self, layer: BidirectionalLayer) -> None:
        super().__init__()
        self.cells = Recurrence((layer.right, layer.left))
        self.join, self.around = layer.join, layer.around

    def over(
        self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B D"]]:
        (right, left), ends = self.cells(x, keep)
        return self.around(x, self.join(right, left)), self.join(ends[0].h, ends[1].h)


class OneWay(nn.Module):
    """The counterpart of RecurrentLayer over a whole source."""

    def __init__(self, layer: RecurrentLayer) -> None:
        super().__init__()
        self.cells = Recurrence((layer.cell,))
        self.around = layer.around

    def over(
        self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B D"]]:
        y, end = self.to_end(x, keep)
        return y, end.h

    def to_end(
        self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], CellState]:
        (h,), (end,) = self.cells(x, keep)
        return self.around(x, h), end


class FromZero(nn.Module):
    """The counterpart of RecurrentLayer in a language model, which reads a whole text from a zero state."""

    def __init__(self, layer: RecurrentLayer) -> None:
        super().__init__()
        self.cells = Recurrence((layer.cell,))
        self.cell, self.around = layer.cell, layer.around

    def forward(
        self, x: Float[Tensor, "B T X"], state: CellState, extra_input: None
    ) -> Float[Tensor, "B T D"]:
        (h,), _ = self.cells(x, torch.ones(x.shape[:2], dtype=torch.bool))
        return self.around(x, h)

    if TYPE_CHECKING:
        __call__ = forward


class PaddedSpelling(nn.Module):
    """The counterpart of SpellingCNN, which never cuts off padding."""

    def __init__(self, spell: SpellingCNN) -> None:
        super().__init__()
        self.spell = spell

    def forward(self, spelt: Int[Tensor, "N A"]) -> Float[Tensor, "N E"]:
        return self.spell.read(F.pad(spelt, (0, self.spell.shortest)), (spelt > 0).sum(dim=1))

    if TYPE_CHECKING:
        __call__ = forward


class PaddedKernels(nn.Module):
    """The counterpart of MultiKernelEncoder, which pads every source."""

    def __init__(self, encoder: MultiKernelEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Memory:
        return self.encoder.read(src, keep, self.encoder.shortest)

    if TYPE_CHECKING:
        __call__ = forward


class PaddedPooling(nn.Module):
    """The counterpart of PooledConvolution: a zero after the last place has the effect of rounding up."""

    def __init__(self, layer: PooledConvolution) -> None:
        super().__init__()
        self.K, self.stride = layer.K, layer.stride

    def forward(
        self, x: Float[Tensor, "B X S F"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B C M K"], Bool[Tensor, "B M"]]:
        x = F.pad(real(F.relu(self.K(real(x, keep))), keep), (0, 1, 0, self.stride - 1))
        return F.max_pool2d(x, (self.stride, 2)), keep[:, :: self.stride]

    if TYPE_CHECKING:
        __call__ = forward


class MaskedConvEncoder(nn.Module):
    """The counterpart of ConvEncoder, which always assumes padding."""

    def __init__(self, encoder: ConvEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory:
        return self.encoder.read(src, keep, is_padded=True)

    if TYPE_CHECKING:
        __call__ = forward


class SideBySide(nn.Module):
    """The counterpart of GatedConvolution: the k inputs of a window are slices of one sequence."""

    def __init__(self, convolution: GatedConvolution) -> None:
        super().__init__()
        self.kernel, self.left, self.W = convolution.kernel, convolution.left, convolution.W

    def forward(self, x: Float[Tensor, "N X"], shape: tuple[int, int]) -> Float[Tensor, "N D"]:
        padded = F.pad(x.view(*shape, -1), (0, 0, self.left, self.kernel - 1 - self.left))
        seen = [padded[:, j : j + shape[1]] for j in range(self.kernel)]
        return glu(self.W(torch.cat(seen, dim=2)).flatten(0, 1))

    if TYPE_CHECKING:
        __call__ = forward


class AllColumns(nn.Module):
    """The counterpart of SentenceModel, which applies every kernel to every sentence.

    Sentences that are too short for a kernel are unchanged. No column is removed, so columns after the real
    ones hold values that are never read.
    """

    def __init__(self, model: SentenceModel) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, x: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B S D"], Bool[Tensor, "B S"]]:
        left, count = keep.sum(dim=1), x.shape[1]
        for i in range(2, self.model.widest + 1):
            shrinks = left >= i
            K = self.model.K[first(i) : first(i + 1)]
            E = torch.tanh(convolve_features(F.pad(x, (0, 0, 0, i - 1)), K))
            x = torch.where(shrinks.view(-1, 1, 1), E, x)
            left = torch.where(shrinks, left - (i - 1), left)
        real = torch.arange(count, device=x.device) < left.unsqueeze(1)
        return self.model.whole(x, left, real), x, real

    if TYPE_CHECKING:
        __call__ = forward
