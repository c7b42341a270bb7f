"""The convolutional sentence model (Kalchbrenner & Blunsom 2013): it reduces a sentence to one vector.

E_i = tanh(E_{i−1} ∗ K^(i)) for i = 2, 3, …, where K^(i) is i columns wide and leaves i − 1 columns fewer,
until the next kernel is wider than the columns left; then e = tanh(E ∗ L^(m)) with the kernel that covers
all m columns. Every feature has its own kernels and is convolved separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.shapes import Bool, Float, Int, Tensor

Columns = TypeVar("Columns", int, Tensor)


class SentenceModel(nn.Module):
    """Kernels of 2 … r columns, which reduce N words to r columns at most, if r ≥ √(2N).

    The kernels are stacked, one row per column. Those for long sentences are rarely used.
    """

    def __init__(self, size: int, widest: int) -> None:
        super().__init__()
        self.widest = widest
        self.K = nn.Parameter(kernels(size, widest))
        self.L = nn.Parameter(kernels(size, widest))

    def forward(
        self, x: Float[Tensor, "B S D"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B M D"], Bool[Tensor, "B M"]]:
        """Return the sentence vector, the feature map it is computed from, and the mask of the map."""
        left = keep.sum(dim=1)
        for i in range(2, self.widest + 1):
            if i > x.shape[1]:
                break
            x, left = self.shrink(x, left, i)
        real = torch.arange(x.shape[1], device=x.device) < left.unsqueeze(1)
        return self.whole(x, left, real), x, real

    def shrink(
        self, x: Float[Tensor, "B S D"], left: Int[Tensor, " B"], i: int
    ) -> tuple[Float[Tensor, "B M D"], Int[Tensor, " B"]]:
        """Return E_i of the sentences that have i columns left; the others are unchanged."""
        shrinks = left >= i
        left = torch.where(shrinks, left - (i - 1), left)
        # The bound spares the host a wait for the device. On a CPU, it is faster to know.
        bound = max(x.shape[1] - i + 1, i - 1)
        columns = int(left.max()) if left.device.type == "cpu" else bound
        E = torch.tanh(convolve_features(x, self.K[first(i) : first(i + 1)]))
        E = F.pad(E, (0, 0, 0, max(columns - E.shape[1], 0)))
        return torch.where(shrinks.view(-1, 1, 1), E[:, :columns], x[:, :columns]), left

    def whole(
        self, x: Float[Tensor, "B M D"], left: Int[Tensor, " B"], real: Bool[Tensor, "B M"]
    ) -> Float[Tensor, "B D"]:
        """Return e = tanh(Σ_j L^(m)_j ⊙ E_j); a single column already is the sentence vector."""
        row = first(left.unsqueeze(1)) + torch.arange(x.shape[1], device=x.device)
        L = self.L[torch.where(real, row, 0)] * real.unsqueeze(2)
        return torch.where(left.unsqueeze(1) == 1, x[:, 0], torch.tanh((L * x).sum(dim=1)))

    if TYPE_CHECKING:
        __call__ = forward


def convolve_features(x: Float[Tensor, "B S D"], K: Float[Tensor, "i D"]) -> Float[Tensor, "B M D"]:
    """Return y_t = Σ_j K_j ⊙ x_{t+j}, without padding."""
    count = x.shape[1] - len(K) + 1
    return sum((K[j] * x[:, j : j + count] for j in range(1, len(K))), start=K[0] * x[:, :count])


def kernels(size: int, widest: int) -> Float[Tensor, "N D"]:
    """Return kernels of 2 … r columns, drawn from N(0, √(1/i)) to preserve the variance."""
    return torch.cat([torch.randn(i, size) * i**-0.5 for i in range(2, widest + 1)])


def first(i: Columns) -> Columns:
    """Return the first row of the kernel of i columns, after 2 + 3 + … + (i − 1) rows."""
    return i * (i - 1) // 2 - 1
