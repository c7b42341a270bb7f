"""Calibration error and the logistic curve, by hand and by what they must do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.metrics.calibration import calibration_error, fit_logistic, fit_monotone, logistic, monotone

PROBABILITIES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def test_error_by_hand() -> None:
    # Two bins: 0.95 twice, once right; 0.15 twice, never right.
    assert calibration_error([0.95, 0.95, 0.15, 0.15], [1, 0, 0, 0]) == pytest.approx(0.5 * 0.45 + 0.5 * 0.15)


def test_who_is_as_sure_as_right_has_no_error() -> None:
    assert calibration_error([0.75] * 4, [True, True, True, False]) == 0
    assert calibration_error([1.0, 0.0], [True, False]) == 0
    assert calibration_error([], []) == 0


@given(PROBABILITIES)
def test_the_error_lies_between_none_and_one_and_knows_no_order(tokens: list[tuple[float, bool]]) -> None:
    p, hit = [p for p, _ in tokens], [hit for _, hit in tokens]
    error = calibration_error(p, hit)
    assert 0 <= error <= 1 + 1e-12
    assert calibration_error(p[::-1], hit[::-1]) == pytest.approx(error, abs=1e-12)


def test_parts_that_fall_are_pooled_by_hand() -> None:
    x, y = [0.1, 0.2, 0.3, 0.4], [0.0, 1.0, 0.0, 1.0]
    assert fit_monotone(x, y) == ((0.1, 0.0), (0.25, 0.5), (0.4, 1.0))
    assert fit_monotone(x, y, knots=2) == ((pytest.approx(0.15), 0.5), (pytest.approx(0.35), 0.5))
    points = fit_monotone(x, y)
    assert monotone([0.0, 0.175, 0.325, 9.0], points).tolist() == pytest.approx([0.0, 0.25, 0.75, 1.0])


@given(PROBABILITIES, st.integers(1, 8))
@example([(0.0, False)] * 2 + [(0.24732872924362753, n % 2 == 1) for n in range(4)], 4)
def test_a_monotone_curve_never_falls_and_keeps_the_mean(
    tokens: list[tuple[float, bool]], knots: int
) -> None:
    p, hit = [p for p, _ in tokens], [hit for _, hit in tokens]
    points = fit_monotone(p, hit, knots)
    assert len(points) <= knots
    assert list(points) == sorted(points)
    assert [value for _, value in points] == sorted(value for _, value in points)
    assert all(0 <= value <= 1 for _, value in points)


def test_a_monotone_curve_undoes_a_wrong_certainty() -> None:
    draw = np.random.default_rng(2)
    truth = draw.uniform(size=20_000)
    hit, claimed = draw.uniform(size=truth.size) < truth, truth**0.3
    half = truth.size // 2
    points = fit_monotone(claimed[:half], hit[:half])
    assert calibration_error(claimed[half:], hit[half:]) > 0.2
    assert calibration_error(monotone(claimed[half:], points), hit[half:]) < 0.02


def test_the_curve_is_found_again() -> None:
    x = np.linspace(-3, 0, 20_000)
    assert fit_logistic(x, logistic(x, 2.5, 1.0)) == pytest.approx((2.5, 1.0), rel=0.01)


def test_the_mean_of_the_curve_is_the_mean_of_the_values() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=300), draw.uniform(size=300)
    assert logistic(x, *fit_logistic(x, y)).mean() == pytest.approx(y.mean(), abs=0.01)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0], [0.3]),
        ([2.0, 2.0], [0.0, 1.0]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([0.0, 1.0], [1.0, 0.0]),
        ([0.0], [1.0]),
        ([-0.01] * 20, [1.0] * 20),
    ],
    ids=["one", "alike", "separable", "falling", "certain", "alike and certain"],
)
def test_odd_values_still_give_a_curve(x: list[float], y: list[float]) -> None:
    slope, offset = fit_logistic(x, y)
    assert slope >= 0
    assert slope < 1e4
    assert np.isfinite(offset)
    assert (logistic([-1e6, 0.0, 1e6], slope, offset) >= 0).all()
