"""Norms over the features of a token; LayerNorm (Ba et al. 2016) is torch's own."""

from __future__ import annotations

from torch import nn


class RMSNorm(nn.RMSNorm):
    """x ⊙ g / √(mean(x²) + ε)   (Zhang & Sennrich 2019, eq. 4): no mean is subtracted, nothing is added.

    ε is LayerNorm's 10⁻⁵, because CTranslate2 reads one ε for all norms of a model.
    """

    def __init__(self, size: int, eps: float = 1e-5) -> None:
        super().__init__(size, eps=eps)
