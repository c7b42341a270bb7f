"""p(i): the probability at update i that the decoder reads the reference, not its own output.

The notation is that of Bengio et al. 2015, section 2.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Decay = Callable[[int], float]


def constant(p: float) -> Decay:
    return lambda i: p


def linear(k: float, c: float, epsilon: float) -> Decay:
    """Return max(ε, k − c i)."""
    return lambda i: max(epsilon, k - c * i)


def exponential(k: float) -> Decay:
    """Return kⁱ with k < 1."""
    return lambda i: float(k**i)


def inverse_sigmoid(k: float) -> Decay:
    """Return k / (k + exp(i/k)) with k ≥ 1, in a form that cannot overflow."""
    return lambda i: k * math.exp(-i / k) / (k * math.exp(-i / k) + 1.0)


def at_least(epsilon: float, decay: Decay) -> Decay:
    return lambda i: max(epsilon, decay(i))


def sigmoid_falling_to_half(i: int) -> float:
    """Return the k whose inverse sigmoid is ½ at update i: k ln k = i, by Newton's method."""
    k = i + 1.0
    for _ in range(50):
        k = (k + i) / (math.log(k) + 1.0)
    return k
