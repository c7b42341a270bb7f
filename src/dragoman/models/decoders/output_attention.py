"""The simplest decoder with attention: the context joins the state only before the output.

s_t = cell(y_{t−1}, s_{t−1})    α = softmax(score(s_t, h_i))    c_t = Σ α_i h_i    o_t = W [c_t; s_t]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class OutputAttentionDecoder(nn.Module):
    def __init__(self, trunk: RecurrentStack, attention: DecoderAttention, W: nn.Linear) -> None:
        super().__init__()
        self.trunk = trunk
        self.attention = attention
        self.W = W

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        s = self.trunk.run(self.trunk.tokens(tgt), self.trunk.begin(memory, 1), None)
        c, _ = self.attention(s, self.attention.project(memory))
        return self.W(torch.cat((c, s), dim=2))

    def start(self, memory: Memory, width: int) -> State:
        return State(self.attention.project(memory), self.trunk.begin(memory, width))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        s, states = self.trunk.step(self.trunk.token(y), state.moving, None)
        c, alpha = self.attention.step(s, state.fixed)
        return self.W(torch.cat((c, s), dim=1)), State(state.fixed, states), alpha

    if TYPE_CHECKING:
        __call__ = forward
