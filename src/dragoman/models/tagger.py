"""p(y | x) in step: an encoder and a head that gives each word a tag; and, jointly, a label for the line.

The encoder reads x₁ … x_n </s>; the target is y₁ … y_n, without </s>, so its states but the last are
those of the words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.models.classifier import LabelHead
from dragoman.models.heads.tags import TagHead
from dragoman.protocols import Batch, Encoder, LossSum, Outputs
from dragoman.shapes import Bool, Int, Tensor


class Tagger(nn.Module):
    def __init__(self, encoder: Encoder, head: TagHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, batch: Batch) -> LossSum:
        memory = self.encoder(batch.src, batch.src_keep)
        return self.head.loss(memory.states[:, :-1], batch.tgt_out, batch.tgt_keep)

    def outputs(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Outputs:
        """Return the scores of the tags of each word, (B, S − 1, V)."""
        return self.head.scores(self.encoder(src, keep).states[:, :-1])

    if TYPE_CHECKING:
        __call__ = forward


class JointTagger(nn.Module):
    """Slots and intent from one encoder (Liu & Lane 2016). The first entry of a target is the label."""

    def __init__(self, encoder: Encoder, head: TagHead, label_head: LabelHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.label_head = label_head

    def forward(self, batch: Batch) -> LossSum:
        memory = self.encoder(batch.src, batch.src_keep)
        tags = self.head.loss(memory.states[:, :-1], batch.tgt_out[:, 1:], batch.tgt_keep[:, 1:])
        label = self.label_head.loss(memory, batch.tgt_out[:, 0])
        return LossSum(tags.loss + label.loss, tags.nll + label.nll)

    def outputs(self, src: Int[Tensor, "B S *n"], keep: Bool[Tensor, "B S"]) -> Outputs:
        """Return the scores of the tags, and the probabilities of the labels."""
        memory = self.encoder(src, keep)
        return {**self.head.scores(memory.states[:, :-1]), **self.label_head.labels(memory)}

    if TYPE_CHECKING:
        __call__ = forward
