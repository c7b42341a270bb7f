"""Attention of a recurrent decoder: e_i = score(s, h_i), α = softmax(e), c = Σ α_i h_i."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import nn

from dragoman.nn.attention.attend import attend, padding_bias
from dragoman.nn.attention.scores import Score
from dragoman.protocols import Memory
from dragoman.shapes import Float, Tensor


class ProjectedMemory(NamedTuple):
    """Keys, values and padding bias, which do not change while a sentence is decoded."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S M"]
    bias: Float[Tensor, "B 1 S"]


class DecoderAttention(nn.Module):
    def __init__(self, score: Score) -> None:
        super().__init__()
        self.score = score

    def project(self, memory: Memory) -> ProjectedMemory:
        bias = padding_bias(memory.keep, memory.states.dtype)
        return ProjectedMemory(self.score.keys(memory.states), memory.states, bias)

    def forward(
        self, s: Float[Tensor, "B T Q"], projected: ProjectedMemory
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """Return a context for each query of a sentence, and the attention weights."""
        return attend(self.score.score(s, projected.keys) + projected.bias, projected.values)

    def step(
        self, s: Float[Tensor, "N Q"], projected: ProjectedMemory
    ) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Return the same for N hypotheses; the W hypotheses of a sentence are W queries of its memory."""
        c, alpha = self(s.view(projected.values.shape[0], -1, s.shape[1]), projected)
        return c.flatten(0, 1), alpha.flatten(0, 1)

    if TYPE_CHECKING:
        __call__ = forward
