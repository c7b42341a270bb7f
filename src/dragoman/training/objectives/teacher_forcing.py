"""What an update minimises: a function of the model, a micro-batch and the number of the update.

It gives sums over target tokens, so that micro-batches and ranks add up, and draws all that is random from
the stream of the enclosing `noise`, so that a resumed run draws the same.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, LossSum

Objective = Callable[[Seq2Seq, Batch, int], LossSum]


def teacher_forcing(model: Seq2Seq, batch: Batch, step: int) -> LossSum:
    """−Σ_t log p(y_t | y_<t, x): each token after the reference, the whole target at once."""
    return model(batch)
