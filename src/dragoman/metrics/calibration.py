"""Calibration: how far confidence is from being right, and the curve that turns a score into a confidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

BINS = 10
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
