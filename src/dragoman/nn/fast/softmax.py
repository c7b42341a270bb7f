"""softmax over few keys: the twin of `torch.softmax(e, dim=-1)`.

On a CPU torch takes a row that does not fill a vector one number after the other. Filled up with −∞, which
weighs nothing, it takes a fifth of the time, forward and back: most sentences are shorter than a vector.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from dragoman.shapes import Float, Tensor

VECTOR = {torch.float32: 16, torch.bfloat16: 32}  # numbers in 512 bits
FEW = 4  # below that there is nothing to win


def softmax(e: Float[Tensor, "*b S"]) -> Float[Tensor, "*b S"]:
    S, width = e.shape[-1], VECTOR.get(e.dtype, 0)
    if e.device.type != "cpu" or not FEW <= S < width:
        return torch.softmax(e, dim=-1)
    return torch.softmax(F.pad(e, (0, width - S), value=-torch.inf), dim=-1)[..., :S]
