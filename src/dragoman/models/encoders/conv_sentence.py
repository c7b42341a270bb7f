"""An encoder that reduces a sentence to one vector by convolutions (Kalchbrenner & Blunsom 2013)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.nn.conv.sentence_model import SentenceModel
from dragoman.nn.embedding import PlainEmbedding
from dragoman.protocols import Memory
from dragoman.shapes import Bool, Shaped, Tensor


class ConvSentenceEncoder(nn.Module):
    """The summary is the sentence vector. For attention, the states are this vector, then its feature map."""

    def __init__(self, embed: PlainEmbedding, shrink: SentenceModel) -> None:
        super().__init__()
        self.embed = embed
        self.shrink = shrink

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory:
        sentence, top, real = self.shrink(self.embed(src), keep)
        states = torch.cat((sentence.unsqueeze(1), top), dim=1)
        return Memory(states, F.pad(real, (1, 0), value=True), sentence)

    if TYPE_CHECKING:
        __call__ = forward
