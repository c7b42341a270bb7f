"""Macro-F₁ and confusion counts against scikit-learn (1.9), whose numbers are written down here."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dragoman.metrics.confusion import f1_of, macro_f1, macro_f1_of
from dragoman.metrics.report import score
from dragoman.metrics.significance import compare


def random_labels() -> tuple[list[str], list[str]]:
    rng = random.Random(11)
    wanted = [rng.choice("abcdef") for _ in range(500)]
    return [label if rng.random() < 0.6 else rng.choice("abcdefg") for label in wanted], wanted


def test_macro_f1_and_counts_are_those_of_scikit_learn() -> None:
    measured = macro_f1(*random_labels())
    assert measured.score().value == pytest.approx(59.28978263034507)
    assert measured.labels == list("abcdefg")
    assert measured.counts()[0].tolist() == [65, 7, 6, 3, 5, 2, 10]


def test_f1_by_hand() -> None:
    counts = np.array([[3, 1, 0], [0, 2, 0], [0, 0, 0]])
    assert f1_of(counts)[:2].tolist() == [pytest.approx(600 / 7), 80.0]
    assert np.isnan(f1_of(counts)[2])
    assert macro_f1_of(counts) == pytest.approx((600 / 7 + 80) / 2)


def test_rare_labels_weigh_as_much_as_frequent_ones() -> None:
    wanted = ["often"] * 98 + ["rare"] * 2
    report = score(["often"] * 100, wanted, metrics=["accuracy", "macro_f1"])
    assert report.scores["accuracy"].value == 98
    assert report.scores["macro_f1"].value == pytest.approx(100 * 2 * 98 / 198 / 2)


def test_confusions_are_listed_by_count() -> None:
    measured = macro_f1(["b", "b", "a", "a", "c"], ["a", "a", "a", "b", "c"])
    assert measured.most_confused() == [("a", "b", 2), ("b", "a", 1)]


def test_the_interval_contains_the_value_and_two_systems_are_compared() -> None:
    outputs, wanted = random_labels()
    low, high = macro_f1(outputs, wanted).score().interval
    assert low < 59.29 < high
    (row,) = compare(wanted, outputs, wanted, metrics=["macro_f1"])
    assert row.system == 100
    assert row.p_value < 0.05
