"""Steppers over arrays: what they step by is one of the steppers over tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from dragoman.protocols import State, Stepper
from dragoman.search.numpy.search import ArrayState, Bools, Floats, Ints


class Arrays:
    """Any stepper, seen through the protocol of arrays."""

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self.rows: list[tuple[int, ...]] = []  # how many hypotheses each step saw

    def start(self, src: Ints, keep: Bools) -> ArrayState:
        state = self.stepper.start(torch.from_numpy(src), torch.from_numpy(keep), 1)
        (fixed, self.fixed), (moving, self.moving) = tree_flatten(state.fixed), tree_flatten(state.moving)
        return ArrayState([x.numpy() for x in fixed], [x.numpy()[:, None] for x in moving])

    def step(self, y: Ints, state: ArrayState) -> tuple[Floats, ArrayState]:
        self.rows.append(y.shape)
        fixed = tree_unflatten([torch.from_numpy(x) for x in state.fixed], self.fixed)
        moving = [torch.from_numpy(x.reshape(y.size, *x.shape[2:])) for x in state.moving]
        step = self.stepper.step(
            torch.from_numpy(y.reshape(-1).copy()), State(fixed, tree_unflatten(moving, self.moving))
        )
        new = [unflat(x, y.shape) for x in tree_flatten(step.state.moving)[0]]
        return unflat(step.log_p, y.shape).copy(), ArrayState(state.fixed, new)


def unflat(x: torch.Tensor, shape: tuple[int, ...]) -> Any:
    return np.reshape(x.numpy(), (*shape, *x.shape[1:]))
