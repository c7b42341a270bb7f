"""A network without a decoder, run by PyTorch."""

from __future__ import annotations

from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.inference.array_network import Arrays
from dragoman.protocols import Network, Outputs, send
from dragoman.shapes import Bool, Shaped, Tensor


@runtime_checkable
class HasOutputs(Protocol):
    def outputs(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Outputs: ...


class TorchNetwork:
    """The model on its device."""

    def __init__(self, model: Network) -> None:
        self.model = cast(HasOutputs, model)
        self.device = next(model.parameters()).device

    @torch.no_grad()
    def __call__(self, src: NDArray[Any], keep: NDArray[np.bool_]) -> Arrays:
        given = (send(torch.from_numpy(x), self.device) for x in (src, keep))
        return {name: x.cpu().numpy() for name, x in self.model.outputs(*given).items()}
