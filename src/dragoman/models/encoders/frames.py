"""An encoder of pictures, sounds and numbers: frames become vectors, and any encoder reads these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.nn.conv.frames import FrameConvolutions, FrameProjection
from dragoman.protocols import Encoder, Memory
from dragoman.shapes import Bool, Float, Tensor


class FrameEncoder(nn.Module):
    """The encoder has no embedding matrix; it reads the vectors as they are."""

    def __init__(self, embed: FrameConvolutions | FrameProjection, encoder: Encoder) -> None:
        super().__init__()
        self.embed = embed
        self.encoder = encoder

    def forward(self, src: Float[Tensor, "B S F"], keep: Bool[Tensor, "B S"]) -> Memory:
        return self.encoder(*self.embed(src, keep))

    if TYPE_CHECKING:
        __call__ = forward
