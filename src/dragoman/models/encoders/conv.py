"""The encoder of ConvS2S (Gehring et al. 2017): blocks of gated convolutions, over all tokens in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import nn

from dragoman.models.encoders.transformer import mean
from dragoman.nn.attention.attend import has_no_padding
from dragoman.nn.conv.block import EncoderBlock
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.module_list import TypedModuleList
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Shaped, Tensor


class ConvEncoder(nn.Module):
    """ConvS2S encoder. The memory holds the states z, and the embeddings e, which have the same width."""

    def __init__(
        self,
        embed: PositionalEmbedding,
        enter: WeightNormed,
        blocks: Sequence[EncoderBlock],
        leave: WeightNormed,
    ) -> None:
        super().__init__()
        self.embed = embed
        self.enter = enter
        self.blocks = TypedModuleList(blocks)
        self.leave = leave

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory:
        return self.read(src, keep, is_padded=not has_no_padding(keep))

    def read(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], *, is_padded: bool) -> Memory:
        """Return the memory. Padding counts as zero, at the cost of one multiplication per block."""
        shape = (src.shape[0], src.shape[1])
        e = self.embed(src)
        x = self.enter(e.flatten(0, 1))
        real = keep.reshape(-1, 1).to(x.dtype) if is_padded else None
        for block in self.blocks:
            x = block(x, shape, real)
        z = self.leave(x).unflatten(0, shape)
        return Memory(z, keep, mean(z, keep), embedded=e)

    if TYPE_CHECKING:
        __call__ = forward
