"""The tokens of a batch in one row after another: all that is done to each token alone needs no sentences.

On a CPU every new number of rows makes oneDNN compile its bf16 products anew, which took a third of the
time of an update. A round number of rows makes few kinds; what fills it up is never read.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor

_ROUND = 128


def to_rows(x: Float[Tensor, "B T D"]) -> Float[Tensor, "N D"]:
    rows = x.flatten(0, 1)
    missing = -rows.shape[0] % _ROUND
    if x.dtype != torch.bfloat16 or x.is_cuda or not missing:
        return rows
    return F.pad(rows, (0, 0, 0, missing))


def from_rows(x: Float[Tensor, "N D"], shape: tuple[int, int]) -> Float[Tensor, "B T D"]:
    """The flat tokens as the B sentences of T tokens that they are."""
    return x[: shape[0] * shape[1]].view(*shape, -1)
