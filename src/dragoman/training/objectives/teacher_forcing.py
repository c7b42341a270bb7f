"""Training objectives, functions of the model, a micro-batch and the update number; teacher forcing.

An objective returns sums over target tokens, so that micro-batches and ranks can be added. It draws all
random numbers from the stream of the enclosing `noise`, so that a resumed run draws the same.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, LossSum

Objective = Callable[[Seq2Seq, Batch, int], LossSum]


def teacher_forcing(model: Seq2Seq, batch: Batch, step: int) -> LossSum:
    """Return −Σ_t log p(y_t | y_<t, x) with y_<t of the reference, for the whole target in one pass."""
    return model(batch)
