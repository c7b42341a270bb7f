"""The decoder of Bahdanau et al. 2015: it attends before it steps, and the context enters the cell.

α = softmax(score(s_{t−1}, h_i))    c_t = Σ α_i h_i    s_t = cell([y_{t−1}; c_t], s_{t−1})
t = maxout(s_t, y_{t−1}, c_t)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.nn.dropout import Dropout
from dragoman.nn.recurrent.maxout import MaxoutOutput
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class BahdanauDecoder(nn.Module):
    """Bahdanau decoder. Of several layers, the top one is the query and the bottom one reads the context."""

    def __init__(
        self, trunk: RecurrentStack, attention: DecoderAttention, output: MaxoutOutput, dropout: Dropout
    ) -> None:
        super().__init__()
        self.trunk = trunk
        self.attention = attention
        self.output = output
        self.dropout = dropout

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        y = self.trunk.tokens(tgt)
        projected, states = self.attention.project(memory), self.trunk.begin(memory, 1)
        ss, cs = [], []
        for token in self.trunk.one_by_one(y):
            c, _ = self.attention.step(states[-1].h, projected)
            s, states = self.trunk.step(token, states, c)
            ss.append(s)
            cs.append(c)
        return self.dropout(self.output(torch.stack(ss, dim=1), y, torch.stack(cs, dim=1)))

    def start(self, memory: Memory, width: int) -> State:
        return State(self.attention.project(memory), self.trunk.begin(memory, width))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        token = self.trunk.token(y)
        c, alpha = self.attention.step(state.moving[-1].h, state.fixed)
        s, states = self.trunk.step(token, state.moving, c)
        return self.dropout(self.output(s, token.x, c)), State(state.fixed, states), alpha

    if TYPE_CHECKING:
        __call__ = forward
