"""Shallow fusion: a language model has a say in each step of another model's search."""

from __future__ import annotations

from dragoman.protocols import State, Step, Stepper
from dragoman.search.ensemble import join_states
from dragoman.shapes import Bool, Int, Shaped, Tensor


class ShallowFusion:
    """log p(y_t | y_<t, x) + β log p_LM(y_t | y_<t)   (Gülçehre et al. 2015, section 4.1).

    The sums are scores, not log probabilities: they are not normalised.
    """

    def __init__(self, stepper: Stepper, lm: Stepper, beta: float) -> None:
        self.stepper = stepper
        self.lm = lm
        self.beta = beta

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return join_states([stepper.start(src, keep, width) for stepper in (self.stepper, self.lm)])

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        mine, lm = (State(fixed, moving) for fixed, moving in zip(*state, strict=True))
        step, heard = self.stepper.step(y, mine), self.lm.step(y, lm)
        log_p = step.log_p + self.beta * heard.log_p
        return Step(log_p, join_states([step.state, heard.state]), step.attention)
