"""Ensembles: several models with one vocabulary, whose predictions are averaged at each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from dragoman.protocols import State, Step, Stepper
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor

Average = Callable[[Tensor], Tensor]  # log p of M models [M N V] → [N V]


def mean_of_p(log_p: Float[Tensor, "M N V"]) -> Float[Tensor, "N V"]:
    """Return log 1/M Σ_m p_m: a token that one model finds likely stays likely."""
    return log_p.logsumexp(dim=0) - math.log(len(log_p))


def mean_of_log_p(log_p: Float[Tensor, "M N V"]) -> Float[Tensor, "N V"]:
    """Return 1/M Σ_m log p_m, renormalised: a token that one model finds unlikely becomes unlikely."""
    return log_p.mean(dim=0).log_softmax(dim=-1)


class Ensemble:
    def __init__(self, steppers: Sequence[Stepper], average: Average) -> None:
        self.steppers = tuple(steppers)
        self.average = average

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return join_states([stepper.start(src, keep, width) for stepper in self.steppers])

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        states = [State(fixed, moving) for fixed, moving in zip(state.fixed, state.moving, strict=True)]
        steps = [stepper.step(y, own_state) for stepper, own_state in zip(self.steppers, states, strict=True)]
        log_p = self.average(torch.stack([step.log_p for step in steps]))
        return Step(log_p, join_states([step.state for step in steps]), mean_attention(steps))


def join_states(states: Sequence[State]) -> State:
    return State(tuple(state.fixed for state in states), tuple(state.moving for state in states))


def mean_attention(steps: Sequence[Step]) -> Float[Tensor, "N S"] | None:
    """Return the mean attention, or None if a model has no attention or the shapes differ."""
    alphas = [step.attention for step in steps if step.attention is not None]
    if len(alphas) < len(steps) or len({alpha.shape for alpha in alphas}) > 1:
        return None
    return torch.stack(alphas).mean(dim=0)
