"""Calibration: how far confidence is from being right, and curves that turn a score into a confidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point = tuple[float, float]

BINS = 10
KNOTS = 20  # of a monotone curve at most
STEPS = 50  # of Newton's method, which needs about eight
RIDGE = 1e-6  # keeps a slope finite where the scores separate the values without a fault


def calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> float:
    """ECE = Σ_b n_b/n · |accuracy_b − confidence_b| over equal bins of confidence (Naeini et al. 2015)."""
    p, hit = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if not len(p):
        return 0.0
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    gap = np.bincount(place, hit - p, minlength=bins)
    return float(np.abs(gap).sum() / len(p))


def fit_monotone(x: ArrayLike, y: ArrayLike, knots: int = KNOTS) -> tuple[Point, ...]:
    """Isotonic regression (Zadrozny & Elkan 2002): the mean y of parts of equal size along x, never falling.

    Parts that fall are pooled with the one before, so the points are also the best in squares.
    """
    given, wanted = np.asarray(x, np.float64), np.asarray(y, np.float64)
    pools: list[NDArray[np.int64]] = []
    for part in np.array_split(np.argsort(given, kind="stable"), min(knots, len(given))):
        pools.append(part)
        while len(pools) > 1 and wanted[pools[-2]].mean() > wanted[pools[-1]].mean():
            pools[-2:] = [np.concatenate(pools[-2:])]
    return tuple((float(given[pool].mean()), float(wanted[pool].mean())) for pool in pools)


def monotone(x: ArrayLike, points: Sequence[Point]) -> NDArray[np.float64]:
    """Straight lines between the points, level beyond the first and the last."""
    return np.interp(np.asarray(x, np.float64), [at for at, _ in points], [value for _, value in points])


def logistic(x: ArrayLike, slope: float, offset: float) -> NDArray[np.float64]:
    """σ(a x + b) = 1 / (1 + exp(−a x − b)), written so that it overflows nowhere."""
    return 0.5 * (1.0 + np.tanh(0.5 * (slope * np.asarray(x, np.float64) + offset)))


def fit_logistic(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """The a ≥ 0 and b by which σ(a x + b) is nearest, by cross-entropy, to values y in [0, 1]."""
    given, wanted = np.asarray(x, np.float64), np.asarray(y, np.float64)
    mean, spread = given.mean(), given.std() or 1.0
    features = np.stack([(given - mean) / spread, np.ones_like(given)])
    weights = np.zeros(2)
    for _ in range(STEPS):
        p = logistic(weights @ features, 1.0, 0.0)
        gradient = features @ (p - wanted) + RIDGE * weights
        bend = (features * (p * (1 - p))) @ features.T + RIDGE * np.eye(2)
        step = np.linalg.solve(bend, gradient)
        weights -= np.clip(step, -4.0, 4.0)
        if np.abs(step).max() < 1e-10:
            break
    slope = max(float(weights[0] / spread), 0.0)
    return slope, float(weights[1] - slope * mean)
