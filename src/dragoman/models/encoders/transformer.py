"""The Transformer's encoder (Vaswani et al. 2017, figure 1, left)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.attention.attend import has_no_padding, padding_bias
from dragoman.nn.embedding import PositionedEmbedding, ScaledEmbedding
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.transformer.residual import LayerDrop
from dragoman.nn.transformer.transformer_layer import EncoderLayer
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Float, Shaped, Tensor
from dragoman.text.specials import EOS


class TransformerEncoder(nn.Module):
    def __init__(
        self,
        embed: PositionedEmbedding | ScaledEmbedding,
        layers: Sequence[EncoderLayer],
        norm: nn.Module,
        layer_drop: float = 0.0,
        *,
        reads_end: bool = True,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.layers = TypedModuleList(layers)
        self.norm = norm
        self.layer_drop = LayerDrop(layer_drop)
        self.reads_end = reads_end

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory:
        shape = (src.shape[0], src.shape[1])
        # </s> is last, so masking it is the same as omitting it.
        keep = keep if self.reads_end else keep & (src.view(*keep.shape, -1)[:, :, 0] != EOS)
        x = self.embed(src).flatten(0, 1)
        # Only training may omit the mask: an output must not depend on the padding of others in the batch.
        bias = None if self.training and has_no_padding(keep) else padding_bias(keep, x.dtype)
        for layer in self.layer_drop(self.layers):
            x = layer(x, shape, bias)
        states = self.norm(x).unflatten(0, shape)
        return Memory(states, keep, mean(states, keep))

    if TYPE_CHECKING:
        __call__ = forward


def mean(x: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Return the mean of the real tokens, a summary for decoders that start from one vector."""
    weight = keep.to(x.dtype) / keep.sum(dim=1, keepdim=True)
    return (weight.unsqueeze(1) @ x).squeeze(1)
