"""The tokens of a batch as flat rows, for operations that are applied to each token separately.

On a CPU, oneDNN compiles its bf16 products for every new number of rows, which took a third of the time of an
update. Rounding up the number of rows keeps the variants few; the padding is never read.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from dragoman.shapes import Bool, Float, Tensor

_ROUND = 128


def to_rows(x: Float[Tensor, "B T D"]) -> Float[Tensor, "N D"]:
    """Return the tokens as flat rows, in bf16 on a CPU padded to a multiple of 128."""
    rows = x.flatten(0, 1)
    missing = -rows.shape[0] % _ROUND
    if x.dtype != torch.bfloat16 or x.device.type != "cpu" or not missing:
        return rows
    return F.pad(rows, (0, 0, 0, missing))


def has_no_padding(keep: Bool[Tensor, "B S"]) -> bool:
    """Return whether all tokens are known to be real.

    On other devices than a CPU this is False: the answer would make the host wait for the device, which costs
    more than to handle padding where there is none.
    """
    return keep.device.type == "cpu" and bool(keep.all())


def from_rows(x: Float[Tensor, "N D"], shape: tuple[int, int]) -> Float[Tensor, "B T D"]:
    """Return the flat rows as B sentences of T tokens, without padding rows."""
    return x[: shape[0] * shape[1]].view(*shape, -1)
