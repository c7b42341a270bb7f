"""Keeping the variance, forwards and backwards (Gehring et al. 2017, section 3.4)."""

from __future__ import annotations

from dragoman.shapes import Float, Tensor

ROOT_HALF = 0.5**0.5


def scaled_sum(x: Float[Tensor, "*n D"], y: Float[Tensor, "*n D"]) -> Float[Tensor, "*n D"]:
    """(x + y) √0.5: a sum as large as what it sums."""
    return (x + y) * ROOT_HALF


def scale_gradient(x: Float[Tensor, "*n D"], by: float) -> Float[Tensor, "*n D"]:
    """x itself, but only a part of the gradient goes back."""
    still = x.detach()
    return still + (x - still) * by
