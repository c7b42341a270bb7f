"""The decoders of Luong et al. 2015: they step before they attend, and predict from state and context.

s_t = cell(y_{t−1}, s_{t−1})    α = softmax(score(s_t, h_i))    c_t = Σ α_i h_i    h̃_t = tanh(W_c [c_t; s_t])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.nn.cells.cell import CellState
from dragoman.nn.dropout import Dropout
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class AttentionalVector(nn.Module):
    """h̃ = tanh(W_c [c; s])   (Luong et al. 2015, eq. 5)."""

    def __init__(self, context: int, state: int, size: int) -> None:
        super().__init__()
        self.W_c = nn.Linear(context + state, size, bias=False)

    def forward(self, c: Float[Tensor, "*N M"], s: Float[Tensor, "*N Q"]) -> Float[Tensor, "*N E"]:
        return torch.tanh(self.W_c(torch.cat((c, s), dim=-1)))

    if TYPE_CHECKING:
        __call__ = forward


class LuongDecoder(nn.Module):
    """Luong decoder without input feeding: the whole target is one fused run and one attention product."""

    def __init__(
        self,
        trunk: RecurrentStack,
        attention: DecoderAttention,
        attentional: AttentionalVector,
        dropout: Dropout,
    ) -> None:
        super().__init__()
        self.trunk = trunk
        self.attention = attention
        self.attentional = attentional
        self.dropout = dropout

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        s = self.trunk.run(self.trunk.tokens(tgt), self.trunk.begin(memory, 1), None)
        c, _ = self.attention(s, self.attention.project(memory))
        return self.dropout(self.attentional(c, s))

    def start(self, memory: Memory, width: int) -> State:
        return State(self.attention.project(memory), self.trunk.begin(memory, width))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        s, states = self.trunk.step(self.trunk.token(y), state.moving, None)
        c, alpha = self.attention.step(s, state.fixed)
        return self.dropout(self.attentional(c, s)), State(state.fixed, states), alpha

    if TYPE_CHECKING:
        __call__ = forward


class InputFeedingDecoder(nn.Module):
    """h̃_{t−1} enters the first cell with the token (Luong et al. 2015, section 3.3)."""

    def __init__(
        self,
        trunk: RecurrentStack,
        attention: DecoderAttention,
        attentional: AttentionalVector,
        dropout: Dropout,
    ) -> None:
        super().__init__()
        self.trunk = trunk
        self.attention = attention
        self.attentional = attentional
        self.dropout = dropout

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        projected, (states, h) = self.attention.project(memory), self._begin(memory, 1)
        masks = self.dropout(h.new_ones(*tgt.shape, h.shape[1])).unbind(dim=1)
        hs = []
        for token, mask in zip(self.trunk.one_by_one(self.trunk.tokens(tgt)), masks, strict=True):
            s, states = self.trunk.step(token, states, h)
            h = self.attentional(self.attention.step(s, projected)[0], s) * mask
            hs.append(h)
        return torch.stack(hs, dim=1)

    def start(self, memory: Memory, width: int) -> State:
        return State(self.attention.project(memory), self._begin(memory, width))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        states, h = state.moving
        s, states = self.trunk.step(self.trunk.token(y), states, h)
        c, alpha = self.attention.step(s, state.fixed)
        h = self.dropout(self.attentional(c, s))
        return h, State(state.fixed, (states, h)), alpha

    def _begin(self, memory: Memory, width: int) -> tuple[list[CellState], Float[Tensor, "N E"]]:
        states = self.trunk.begin(memory, width)
        return states, states[0].h.new_zeros(states[0].h.shape[0], self.attentional.W_c.out_features)

    if TYPE_CHECKING:
        __call__ = forward
