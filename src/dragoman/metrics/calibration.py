"""Calibration: the calibration error, and curves that map a score to a confidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point = tuple[float, float]

BINS = 10
KNOTS = 20  # maximum for a monotone curve
STEPS = 50  # at most, of Newton's method; it needs about eight
RIDGE = 1e-6  # keeps the steps finite where the curve is flat
FAR = 3.0  # standard deviations below the lowest score: an output that is worth nothing
LEAST_DISTANCE = 0.05  # in nats per token, if the scores hardly differ


def calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> float:
    """Return ECE = Σ_b n_b/n · |accuracy_b − confidence_b| over bins of equal width (Naeini et al. 2015)."""
    p, hit = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if not len(p):
        return 0.0
    index = np.minimum((p * bins).astype(np.int64), bins - 1)
    gap = np.bincount(index, hit - p, minlength=bins)
    return float(np.abs(gap).sum() / len(p))


def fit_monotone(x: ArrayLike, y: ArrayLike, knots: int = KNOTS) -> tuple[Point, ...]:
    """Fit an isotonic regression (Zadrozny & Elkan 2002) to the mean y of parts of equal size along x.

    A part whose mean decreases is pooled with the one before, which is the least-squares solution.
    """
    scores, targets = np.asarray(x, np.float64), np.asarray(y, np.float64)
    pools: list[NDArray[np.int64]] = []
    for part in np.array_split(np.argsort(scores, kind="stable"), min(knots, len(scores))):
        pools.append(part)
        while len(pools) > 1 and targets[pools[-2]].mean() > targets[pools[-1]].mean():
            pools[-2:] = [np.concatenate(pools[-2:])]
    # A mean of equal numbers can be rounded to a larger one, which would be beyond the next part.
    means = (np.clip(scores[pool].mean(), scores[pool[0]], scores[pool[-1]]) for pool in pools)
    return tuple((float(x), float(targets[pool].mean())) for x, pool in zip(means, pools, strict=True))


def monotone(x: ArrayLike, points: Sequence[Point]) -> NDArray[np.float64]:
    """Return linear interpolation between the points, constant beyond the first and the last."""
    return np.interp(np.asarray(x, np.float64), [at for at, _ in points], [value for _, value in points])


def logistic(x: ArrayLike, slope: float, offset: float) -> NDArray[np.float64]:
    """Return σ(a x + b) = 1 / (1 + exp(−a x − b)), computed without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * (slope * np.asarray(x, np.float64) + offset)))


def fit_logistic(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Return a ≥ 0 and b of σ(a x + b), fitted by cross-entropy to values y in [0, 1] of scores x.

    Perfect outputs alone would say that all outputs are perfect, whatever their score. So the values are
    smoothed (Platt 1999), and one output more, of value 0, is added far below the lowest score.
    """
    scores, targets = np.asarray(x, np.float64), np.asarray(y, np.float64)
    far_below = scores.min() - max(FAR * scores.std(), LEAST_DISTANCE)
    scores, targets = np.append(scores, far_below), np.append(targets, 0.0)
    targets = (targets * len(targets) + 1) / (len(targets) + 2)
    mean, spread = scores.mean(), scores.std()
    features = np.stack([(scores - mean) / spread, np.ones_like(scores)])
    weights = np.zeros(2)
    for _ in range(STEPS):
        p = logistic(weights @ features, 1.0, 0.0)
        gradient = features @ (p - targets) + RIDGE * weights
        hessian = (features * (p * (1 - p))) @ features.T + RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        weights -= np.clip(step, -4.0, 4.0)
        if np.abs(step).max() < 1e-10:
            break
    slope = max(float(weights[0] / spread), 0.0)
    return slope, float(weights[1] - slope * mean)
