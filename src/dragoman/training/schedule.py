"""Learning-rate schedules: a linear warm-up over `warmup` updates, then one of five shapes.

A step may be a fraction: with a time budget, it is the share of the time that has passed, multiplied by the
number of planned updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[float], float]

DECAY_SHARE = 0.3  # of the updates after the warm-up


def rise(step: float, warmup: int) -> float:
    return min(1.0, step / max(1, warmup))


def inverse_sqrt(lr: float, warmup: int) -> Schedule:
    """Return lr · √(warmup / step)   (Vaswani et al. 2017, eq. 3, in terms of its peak)."""
    return lambda step: lr * rise(step, warmup) * min(1.0, math.sqrt(max(1, warmup) / max(1, step)))


def cosine(lr: float, warmup: int, updates: int) -> Schedule:
    """Return half a cosine wave that falls to zero at the last update (Loshchilov & Hutter 2017)."""
    return lambda step: (
        lr * rise(step, warmup) * 0.5 * (1.0 + math.cos(math.pi * past(step, warmup, updates)))
    )


def linear(lr: float, warmup: int, updates: int) -> Schedule:
    return lambda step: lr * rise(step, warmup) * (1.0 - past(step, warmup, updates))


def warmup_stable_decay(lr: float, warmup: int, updates: int) -> Schedule:
    """Return a constant that falls linearly to zero in the last part of the run (Hu et al. 2024)."""
    return lambda step: lr * rise(step, warmup) * min(1.0, (1.0 - past(step, warmup, updates)) / DECAY_SHARE)


def constant(lr: float, warmup: int) -> Schedule:
    return lambda step: lr * rise(step, warmup)


def past(step: float, warmup: int, updates: int) -> float:
    """Return the share that is done of the updates after the warm-up."""
    return min(1.0, max(0.0, (step - warmup) / max(1, updates - warmup)))
