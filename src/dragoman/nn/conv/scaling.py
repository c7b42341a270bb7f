"""Scaling that preserves the variance, forward and backward (Gehring et al. 2017, section 3.4)."""

from __future__ import annotations

from dragoman.shapes import Float, Tensor

ROOT_HALF = 0.5**0.5


def scaled_sum(x: Float[Tensor, "*n D"], y: Float[Tensor, "*n D"]) -> Float[Tensor, "*n D"]:
    """Return (x + y) √0.5, which has the variance of its terms."""
    return (x + y) * ROOT_HALF


def scale_gradient(x: Float[Tensor, "*n D"], by: float) -> Float[Tensor, "*n D"]:
    """Return x unchanged, with its gradient scaled by `by`."""
    detached = x.detach()
    return detached + (x - detached) * by
