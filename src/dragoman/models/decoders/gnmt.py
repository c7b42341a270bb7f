"""The decoder of Wu et al. 2016 (GNMT): the bottom layer attends, and every layer reads the context.

α = softmax(score(s¹_{t−1}, h_i))    c_t = Σ α_i h_i    sˡ_t = cell([yˡ⁻¹_t; c_t], sˡ_{t−1})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.decoders.recurrent_stack import RecurrentStack
from dragoman.protocols import Memory, State
from dragoman.shapes import Float, Int, Tensor


class GNMTDecoder(nn.Module):
    """GNMT decoder. Only the bottom layer runs step by step; the others know all contexts and run fused."""

    def __init__(self, trunk: RecurrentStack, attention: DecoderAttention, output: nn.Module) -> None:
        super().__init__()
        self.trunk = trunk
        self.attention = attention
        self.output = output

    def forward(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        projected, (state, *above) = self.attention.project(memory), self.trunk.begin(memory, 1)
        bottom, *layers = self.trunk.layers
        x = self.trunk.tokens(tgt)
        steps = (x, bottom.read(x), bottom.masks(x.shape[0], x.shape[1]))
        W_extra = bottom.extra_weight(x)
        ys, cs = [], []
        for x_t, a, mask in zip(*(each.unbind(dim=1) for each in steps), strict=True):
            c, _ = self.attention.step(state.h, projected)
            y_t, state = bottom.step(x_t, a + F.linear(c, W_extra), state, mask)
            ys.append(y_t)
            cs.append(c)
        y, contexts = torch.stack(ys, dim=1), torch.stack(cs, dim=1)
        for layer, state in zip(layers, above, strict=True):
            y = layer(y, state, contexts)
        return self.output(y)

    def start(self, memory: Memory, width: int) -> State:
        return State(self.attention.project(memory), self.trunk.begin(memory, width))

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"]]:
        x = self.trunk.token(y).x
        c, alpha = self.attention.step(state.moving[0].h, state.fixed)
        states = []
        for layer, past in zip(self.trunk.layers, state.moving, strict=True):
            a = layer.read(x) + F.linear(c, layer.extra_weight(x))
            x, now = layer.step(x, a, past, None)
            states.append(now)
        return self.output(x), State(state.fixed, states), alpha

    if TYPE_CHECKING:
        __call__ = forward
