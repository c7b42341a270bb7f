"""No <unk> in outputs, for any stepper. The other tokens keep their log p, as in Marian."""

from __future__ import annotations

import torch

from dragoman.protocols import State, Step, Stepper
from dragoman.search.processors.wrapper import mask_unless_stuck
from dragoman.shapes import Bool, Int, Shaped, Tensor
from dragoman.text.specials import UNK


class NoUnk:
    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return self.stepper.start(src, keep, width)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        step = self.stepper.step(y, state)
        forbidden = torch.zeros_like(step.log_p, dtype=torch.bool)
        forbidden[:, UNK] = True
        return step._replace(log_p=mask_unless_stuck(step.log_p, forbidden))
