"""Precision and recall of words by hand numbers."""

from __future__ import annotations

import pytest

from dragoman.metrics.word_buckets import FREQUENCY_LABELS, frequency_label, word_buckets


def test_words_count_as_often_as_both_sides_have_them() -> None:
    outputs = [["the", "the", "the", "cat"], ["a", "dog"]]
    wanted = [["the", "cat", "the"], ["a", "cat", "barks"]]
    found = word_buckets(
        outputs, wanted, lambda _, word: "short" if len(word) < 3 else "long", ["short", "long"]
    )
    short, long = found
    assert (short.wanted, short.written, short.matched) == (1, 1, 1)
    assert (long.wanted, long.written, long.matched) == (5, 5, 3)  # the, the, cat
    assert (long.recall, long.precision, long.f1) == pytest.approx((60, 60, 60))


def test_a_label_may_depend_on_the_sentence() -> None:
    found = word_buckets([["a"], ["a"]], [["a"], ["b"]], lambda number, _: str(number), ["0", "1", "2"])
    assert [(one.label, one.matched, one.wanted) for one in found] == [("0", 1, 1), ("1", 0, 1)]
    assert found[1].f1 == 0


@pytest.mark.parametrize(
    ("count", "label"),
    [(0, "never"), (1, "1–9"), (9, "1–9"), (10, "10–99"), (999, "100–999"), (1000, "1,000 or more")],
)
def test_frequencies_have_decades(count: int, label: str) -> None:
    assert frequency_label(count) == label
    assert label in FREQUENCY_LABELS
