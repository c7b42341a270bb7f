"""The decoder of Sutskever et al. 2014: s_t = cell(y_{t−1}, s_{t−1}); it sees the source only through s⁰."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class SutskeverDecoder(nn.Module):
    """Sutskever decoder. `output` projects the state to the width of the output layer."""

    def __init__(self, trunk: RecurrentStack, output: nn.Module) -> None:
        super().__init__()
        self.trunk = trunk
        self.output = output

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        return self.output(self.trunk.run(self.trunk.tokens(tgt), self.trunk.begin(memory, 1), None))

    def start(self, memory: Memory, width: int) -> State:
        return State((), self.trunk.begin(memory, width))

    def step(self, y: Int[Tensor, " N"], state: State) -> tuple[Float[Tensor, "N D"], State, None]:
        s, states = self.trunk.step(self.trunk.token(y), state.moving, None)
        return self.output(s), State((), states), None

    if TYPE_CHECKING:
        __call__ = forward
