"""What the steppers that wrap a stepper share: their state, and how tokens are blocked."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from dragoman.protocols import State, Step
from dragoman.search.choices import allowed
from dragoman.shapes import Bool, Float, Tensor


class Watched(NamedTuple):
    """What moves in the stepper within, and what a rule remembers of each hypothesis."""

    inner: Any
    memory: Any


def within(state: State) -> State:
    """The state of the stepper within."""
    return State(state.fixed, state.moving.inner)


def around(state: State, memory: Any) -> State:
    return State(state.fixed, Watched(state.moving, memory))


def block(log_p: Float[Tensor, "N V"], forbidden: Bool[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """−∞ for what is forbidden; a rule that would leave a hypothesis nothing to write gives way."""
    blocked = log_p.masked_fill(forbidden, -torch.inf)
    is_stuck = allowed(blocked).amax(-1, keepdim=True) == -torch.inf
    return torch.where(is_stuck, log_p, blocked)


def stepped(step: Step, log_p: Float[Tensor, "N V"], memory: Any) -> Step:
    return Step(log_p, around(step.state, memory), step.attention)
