"""The residual connection with the norm before or after the sub-layer, and layers that are randomly skipped.

For a sub-layer that returns more than its output, call the two parts, `before` and `after`, separately.
Skipping draws from the same keyed noise as dropout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from torch import nn

from dragoman.nn.dropout import Dropout, chance
from dragoman.shapes import Float, Tensor

Sublayer = Callable[[Tensor], Tensor]
Layer = TypeVar("Layer", bound=nn.Module)


class PreNorm(nn.Module):
    """x + dropout(f(norm(x)))   (Xiong et al. 2020)."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"], f: Sublayer) -> Float[Tensor, "N D"]:
        return self.after(x, f(self.before(x)))

    def before(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.norm(x)

    def after(self, x: Float[Tensor, "N D"], y: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.dropout.add(x, y)

    if TYPE_CHECKING:
        __call__ = forward


class PostNorm(nn.Module):
    """norm(x + dropout(f(x)))   (Vaswani et al. 2017, section 5.4)."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "N D"], f: Sublayer) -> Float[Tensor, "N D"]:
        return self.after(x, f(self.before(x)))

    def before(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return x

    def after(self, x: Float[Tensor, "N D"], y: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.norm(self.dropout.add(x, y))

    if TYPE_CHECKING:
        __call__ = forward


Residual = PreNorm | PostNorm


class StochasticDepth(nn.Module):
    """x + m f(x): m = 0 with probability p for each sentence, else 1/(1 − p)   (Huang et al. 2016).

    The paper skips for a whole batch and scales at inference. One mask per sentence with E[m] = 1 is the same
    in expectation, with less noise.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.dropout = Dropout(rate)

    def forward(self, y: Float[Tensor, "N D"], shape: tuple[int, int]) -> Float[Tensor, "N D"]:
        if not self.dropout.active:
            return y
        m = self.dropout.mask(y[: shape[0], 0]).repeat_interleave(shape[1])
        return y * m.unsqueeze(1)

    if TYPE_CHECKING:
        __call__ = forward


class LayerDrop(nn.Module):
    """LayerDrop: in training, each layer is skipped at the given rate   (Fan et al. 2020)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, layers: Iterable[Layer]) -> Iterator[Layer]:
        for layer in layers:
            if not (self.training and self.rate and chance(self.rate)):
                yield layer

    if TYPE_CHECKING:
        __call__ = forward
