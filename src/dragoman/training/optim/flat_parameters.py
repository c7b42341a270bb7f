"""All parameters of a model in one flat tensor: one update, one norm, one message between ranks.

The master weights are fp32. In bf16, the model computes with a rounded copy, renewed after each update.
"""

from __future__ import annotations

import torch
from torch import nn

from dragoman.shapes import Float, Tensor
from dragoman.training.distributed.tree_sum import CHUNK


class FlatParameters:
    """A flat tensor: matrices, then vectors, since only matrices decay. The parameters become views of it."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        named = sorted(model.named_parameters(), key=lambda item: item[1].ndim < 2)
        self.parameters = dict(named)
        self.master = torch.cat([p.detach().float().flatten() for p in self.parameters.values()])
        self.num_matrix = sum(p.numel() for p in self.parameters.values() if p.ndim >= 2)
        model.to(dtype)
        self.working = self.master if dtype == torch.float32 else self.master.to(dtype)
        for p, view in zip(self.parameters.values(), self.views(self.working).values(), strict=True):
            p.data = view

    def __len__(self) -> int:
        return self.master.numel()

    def cuts(self, count: int) -> list[int]:
        """Return where to cut the flat tensor into parts, for as many ranks.

        A part has whole chunks, so that norms are summed in the same order on any number of ranks, and the
        last part has all vectors: torch's fused Adam rounds differently in its last, incomplete SIMD vector,
        so a part must start where one starts.
        """
        whole = self.num_matrix // CHUNK
        return [*(min(len(self) * k // count // CHUNK, whole) * CHUNK for k in range(count)), len(self)]

    def views(self, flat: Float[Tensor, " P"]) -> dict[str, Tensor]:
        """Return views of a flat tensor in the shapes of the parameters, by name."""
        sizes = [p.numel() for p in self.parameters.values()]
        parts = flat[: len(self)].split(sizes)
        return {
            name: part.view(p.shape) for (name, p), part in zip(self.parameters.items(), parts, strict=True)
        }

    def publish(self) -> None:
        """Copy the master weights to those that the model computes with."""
        if self.working is not self.master:
            self.working.copy_(self.master)

    def take_gradient(self, into: Float[Tensor, " Q"]) -> None:
        """Move the gradients of the parameters to a flat fp32 tensor."""
        for p, part in zip(self.parameters.values(), self.views(into).values(), strict=True):
            if p.grad is None:
                part.zero_()
            else:
                part.copy_(p.grad)
                p.grad = None
