"""y^t = softmax(W h_t + b): a distribution over the vocabulary and a blank after it, at each frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn

from dragoman.losses.fast.ctc import ctc
from dragoman.nn.split_states import SplitStates
from dragoman.protocols import Batch, LossSum, Memory, Outputs
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import BOS, EOS, PAD

IMPOSSIBLE = -1e4  # a logit; the gradient of torch's kernel would be NaN at −∞


class Frames(NamedTuple):
    """log y^t of every label and the blank, which is the last, and a mask of the real frames."""

    log_y: Float[Tensor, "B S V"]
    keep: Bool[Tensor, "B S"]

    def outputs(self) -> Outputs:
        return {"log_y": self.log_y, "frames": self.keep}


class CTCHead(nn.Module):
    """`split` is the number of frames per encoder state. <pad>, <s> and </s> have a probability of 0."""

    def __init__(self, features: int, vocabulary: int, split: int = 1) -> None:
        super().__init__()
        self.split = SplitStates(features, split) if split > 1 else None
        self.output = nn.Linear(features, vocabulary + 1)
        self.never = nn.Buffer(torch.tensor([PAD, BOS, EOS]), persistent=False)

    def forward(self, memory: Memory) -> Frames:
        h, keep = memory.states, memory.keep
        if self.split is not None:
            h, keep = self.split(h, keep)
        logits = self.output(h).index_fill(2, self.never, IMPOSSIBLE)
        return Frames(torch.log_softmax(logits, dim=2, dtype=torch.float32), keep)

    def nll(self, memory: Memory, batch: Batch) -> Float[Tensor, " B"]:
        """Return −log p(l | x) of each row."""
        log_y, keep = self(memory)
        return ctc(log_y, keep, *labelling(batch))

    def loss(self, memory: Memory, batch: Batch) -> LossSum:
        nll = self.nll(memory, batch).sum()
        return LossSum(nll, nll.detach())

    if TYPE_CHECKING:
        __call__ = forward


def labelling(batch: Batch) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Return l and its mask: the targets without </s>, which is the last of each."""
    return batch.tgt_out, batch.tgt_keep & (batch.tgt_out != EOS)
