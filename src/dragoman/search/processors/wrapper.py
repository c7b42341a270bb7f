"""What the steppers that wrap a stepper share: their state, and how tokens are blocked."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from dragoman.protocols import State, Step
from dragoman.search.topk import mask_never_written
from dragoman.shapes import Bool, Float, Tensor


class WrappedState(NamedTuple):
    """What moves in the stepper within, and what a rule remembers of each hypothesis."""

    inner: Any
    memory: Any


def unwrap(state: State) -> State:
    """The state of the stepper within."""
    return State(state.fixed, state.moving.inner)


def wrap(state: State, memory: Any) -> State:
    return State(state.fixed, WrappedState(state.moving, memory))


def mask_unless_stuck(log_p: Float[Tensor, "N V"], forbidden: Bool[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """−∞ for what is forbidden; a rule that would leave a hypothesis nothing to write gives way."""
    blocked = log_p.masked_fill(forbidden, -torch.inf)
    is_stuck = mask_never_written(blocked).amax(-1, keepdim=True) == -torch.inf
    return torch.where(is_stuck, log_p, blocked)


def wrap_step(step: Step, log_p: Float[Tensor, "N V"], memory: Any) -> Step:
    return Step(log_p, wrap(step.state, memory), step.attention)
