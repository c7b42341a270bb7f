"""State splitting: k frames from each encoder state, for targets that are longer than their source.

CTC needs at least one frame per label (Libovický and Helcl 2018, section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.shapes import Bool, Float, Tensor


class SplitStates(nn.Module):
    """h'_{kt} … h'_{kt+k−1} = W_spl h_t + b_spl, cut into k parts of the features of h."""

    def __init__(self, features: int, k: int) -> None:
        super().__init__()
        self.k = k
        self.spl = nn.Linear(features, k * features)

    def forward(
        self, h: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B L D"], Bool[Tensor, "B L"]]:
        return self.spl(h).reshape(h.shape[0], -1, h.shape[2]), keep.repeat_interleave(self.k, dim=1)

    if TYPE_CHECKING:
        __call__ = forward
