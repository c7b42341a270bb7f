"""What may be asked of the attention of a whole target: terms that are added to the cross-entropy."""

from __future__ import annotations

from dragoman.losses.coverage import coverage
from dragoman.protocols import Batch
from dragoman.shapes import Float, Tensor


def seen_twice(batch: Batch, attention: Float[Tensor, "B T S"]) -> Float[Tensor, ""]:
    return coverage(attention, batch.tgt_keep)
