"""How sure a model is of its own choices, and how often it is right, as it is led along references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.protocols import Stepper
from dragoman.search.forced import along, padded
from dragoman.shapes import Tensor

# Sources, which of their tokens are real, and a reference for each, with its </s>
References = tuple[Tensor, Tensor, Sequence[Sequence[int]]]


@torch.no_grad()
def own_choices(
    stepper: Stepper, batches: Iterable[References]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Before each token of the references: max_v p(v), and whether that v is the token."""
    sure: list[Tensor] = []
    right: list[Tensor] = []
    for src, keep, references in batches:
        y, real = padded(references, src.device)
        for t, step in enumerate(along(stepper, src, keep, y)):
            best = step.log_p.max(dim=1)
            sure.append(best.values.exp()[real[:, t]])
            right.append((best.indices == y[:, t])[real[:, t]])
    return torch.cat(sure).double().cpu().numpy(), torch.cat(right).cpu().numpy()
