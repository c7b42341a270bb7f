"""A minimum output length for any stepper: no </s> before n tokens."""

from __future__ import annotations

import torch

from dragoman.protocols import State, Step, Stepper
from dragoman.search.processors.wrapper import mask_unless_stuck, unwrap, wrap, wrap_step
from dragoman.shapes import Bool, Int, Shaped, Tensor
from dragoman.text.specials import EOS


class MinLength:
    def __init__(self, stepper: Stepper, n: int) -> None:
        self.stepper = stepper
        self.n = n

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        none = torch.zeros(len(src) * width, dtype=torch.long, device=src.device)
        return wrap(self.stepper.start(src, keep, width), none)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        step = self.stepper.step(y, unwrap(state))
        length = state.moving.memory  # tokens written before this step
        forbidden = torch.zeros_like(step.log_p, dtype=torch.bool)
        forbidden[:, EOS] = length < self.n
        return wrap_step(step, mask_unless_stuck(step.log_p, forbidden), length + 1)
