"""Buckets of sentences by hand numbers: what they lose adds up to what the corpus loses."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.metrics.sentence_buckets import length_labels, sentence_buckets


def test_buckets_by_hand() -> None:
    scores = np.array([100.0, 80.0, 20.0, 20.0])
    first, second = sentence_buckets(scores, ["short", "short", "long", "long"], ["short", "long", "none"])
    assert (first.label, first.sentences, first.mean) == ("short", 2, 90.0)
    assert (second.label, second.sentences, second.mean) == ("long", 2, 20.0)
    assert first.lost == pytest.approx(100 * 20 / 180)
    assert second.lost == pytest.approx(100 * 160 / 180)
    assert second.interval == (20.0, 20.0)
    assert (first.loses, second.loses) == (False, True)  # 20 is below the mean, 55


def test_a_bucket_whose_interval_has_the_mean_does_not_lose() -> None:
    low, _ = sentence_buckets(np.array([0.0, 90.0, 50.0]), ["a", "a", "b"], ["a", "b"])
    assert low.mean == 45.0
    assert not low.loses


def test_one_bucket_says_nothing() -> None:
    assert sentence_buckets(np.array([10.0, 20.0]), ["a", "a"], ["a", "b"]) == []


def test_perfect_outputs_lose_nothing() -> None:
    found = sentence_buckets(np.array([100.0, 100.0]), ["a", "b"], ["a", "b"])
    assert [one.lost for one in found] == [0.0, 0.0]


def test_lengths_are_named_with_their_unit() -> None:
    labels, order = length_labels(["a b", "a b c", "a b c d", "a b c d e", "a b c d e f", "a b"])
    assert order == ["2 words", "3 words", "4 words", "5 words", "6 words"]
    assert labels == ["2 words", "3 words", "4 words", "5 words", "6 words", "2 words"]
    assert length_labels(["ab", "abcd"])[1] == ["2 characters", "4 characters"]
