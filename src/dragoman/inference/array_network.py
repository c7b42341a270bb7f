"""A network without a decoder as a function over arrays, whichever runtime computes it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


@runtime_checkable
class ArrayNetwork(Protocol):
    def __call__(self, src: NDArray[Any], keep: NDArray[np.bool_]) -> Arrays:
        """Return the outputs of a padded batch [B S …] by their names. `keep` [B S] marks what is real."""
