"""Helpers for steppers that wrap a stepper: their state, and masking of forbidden tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from dragoman.protocols import State, Step
from dragoman.search.topk import mask_never_written
from dragoman.shapes import Bool, Float, Tensor


class WrappedState(NamedTuple):
    """The moving state of the inner stepper, and the memory of a rule for each hypothesis."""

    inner: Any
    memory: Any


def unwrap(state: State) -> State:
    """Return the state of the inner stepper."""
    return State(state.fixed, state.moving.inner)


def wrap(state: State, memory: Any) -> State:
    return State(state.fixed, WrappedState(state.moving, memory))


def mask_unless_stuck(log_p: Float[Tensor, "N V"], forbidden: Bool[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """Set forbidden tokens to −∞, except in rows that would have no token left."""
    masked = log_p.masked_fill(forbidden, -torch.inf)
    is_stuck = mask_never_written(masked).amax(-1, keepdim=True) == -torch.inf
    return torch.where(is_stuck, log_p, masked)


def wrap_step(step: Step, log_p: Float[Tensor, "N V"], memory: Any) -> Step:
    return Step(log_p, wrap(step.state, memory), step.attention)
