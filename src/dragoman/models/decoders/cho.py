"""The decoder of Cho et al. 2014: one summary of the source enters every step and every output.

c = tanh(V z)    s_t = cell([y_{t−1}; c], s_{t−1})    t = maxout(s_t, y_{t−1}, c)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.nn.dropout import Dropout
from dragoman.nn.recurrent.maxout import MaxoutOutput
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class ChoDecoder(nn.Module):
    """Cho decoder. The initial state depends on c too: s⁰ = tanh(V′ c)."""

    def __init__(self, trunk: RecurrentStack, V: nn.Linear, output: MaxoutOutput, dropout: Dropout) -> None:
        super().__init__()
        self.trunk = trunk
        self.V = V
        self.output = output
        self.dropout = dropout

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        memory = self._with_context(memory)
        y = self.trunk.tokens(tgt)
        c = memory.summary.unsqueeze(1).expand(-1, y.shape[1], -1)
        s = self.trunk.run(y, self.trunk.begin(memory, 1), c)
        return self.dropout(self.output(s, y, c))

    def start(self, memory: Memory, width: int) -> State:
        memory = self._with_context(memory)
        return State(memory.summary, self.trunk.begin(memory, width))

    def step(self, y: Int[Tensor, " N"], state: State) -> tuple[Float[Tensor, "N D"], State, None]:
        token = self.trunk.token(y)
        width = y.shape[0] // state.fixed.shape[0]
        # Not by repeat_interleave: onnxscript 0.7 writes a wrong graph where the count is dynamic.
        c = state.fixed.unsqueeze(1).expand(-1, width, -1).flatten(0, 1)
        s, states = self.trunk.step(token, state.moving, c)
        return self.dropout(self.output(s, token.x, c)), State(state.fixed, states), None

    def _with_context(self, memory: Memory) -> Memory:
        return memory._replace(summary=torch.tanh(self.V(memory.summary)))

    if TYPE_CHECKING:
        __call__ = forward
