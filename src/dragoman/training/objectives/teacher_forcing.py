"""Training objectives, functions of the model, a micro-batch and the update number; teacher forcing.

An objective returns sums over target tokens, so that micro-batches and ranks can be added. It draws all
random numbers from the stream of the enclosing `noise`, so that a resumed run draws the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.protocols import Batch, LossSum, Network

Objective = Callable[[Any, Batch, int], LossSum]  # of the network that it is made for


def teacher_forcing(model: Network, batch: Batch, step: int) -> LossSum:
    """Return −Σ_t log p(y_t | y_<t, x) with y_<t of the reference, for the whole target in one pass."""
    sums: LossSum = model(batch)
    return sums
