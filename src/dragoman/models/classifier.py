"""p(y | x) for one label y of a whole line: an encoder, a pooling of its states, and a softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.models.heads.token import TokenHead
from dragoman.nn.attention.pooling import LearnedQuery, MaxPooling, MeanPooling
from dragoman.protocols import Batch, Encoder, LossSum, Memory, Outputs
from dragoman.shapes import Bool, Float, Int, Tensor

Pooling = LearnedQuery | MeanPooling | MaxPooling


class LabelHead(nn.Module):
    """A softmax over labels, of the pooled states; without a pooling, of the summary of the encoder.

    `never` marks the entries that are no labels, such as </s>: they are not answers.
    """

    never: Tensor

    def __init__(self, pooling: Pooling | None, head: TokenHead, never: Bool[Tensor, " V"]) -> None:
        super().__init__()
        self.pooling = pooling
        self.head = head
        self.register_buffer("never", never, persistent=False)

    def pooled(self, memory: Memory) -> tuple[Float[Tensor, "B Z"], Float[Tensor, "B S"] | None]:
        return self.pooling(memory.states, memory.keep) if self.pooling else (memory.summary, None)

    def loss(self, memory: Memory, y: Int[Tensor, " B"]) -> LossSum:
        return self.head.loss(self.pooled(memory)[0], y)

    def labels(self, memory: Memory) -> Outputs:
        """Return `p` of the labels, (B, V), and how much each token counts, if the pooling has `weights`."""
        c, weights = self.pooled(memory)
        p = torch.softmax(self.head(c).masked_fill(self.never, float("-inf")), dim=1)
        return {"p": p} if weights is None else {"p": p, "weights": weights}


class Classifier(nn.Module):
    """The target of a batch is one label per line, (B, 1)."""

    def __init__(self, encoder: Encoder, head: LabelHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, batch: Batch) -> LossSum:
        return self.head.loss(self.encoder(batch.src, batch.src_keep), batch.tgt_out[:, 0])

    def outputs(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Outputs:
        """Return the probabilities of the labels."""
        return self.head.labels(self.encoder(src, keep))

    if TYPE_CHECKING:
        __call__ = forward
