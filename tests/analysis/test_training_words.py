"""One pass over the training data: counts of the test set's words, a sample, the usual length."""

from __future__ import annotations

from collections import Counter

import pytest

from dragoman.analysis.training_words import EvenSample, quantile, read_training, unseen
from dragoman.data.pair import Pair


def test_only_words_of_the_test_set_are_counted() -> None:
    pairs = [Pair("A man, a dog.", "Ein Mann", 1), Pair("a cat", "eine Katze", 2)]
    found = read_training(pairs, ["a man sleeps"], ["Katze!"])
    assert found.src == Counter({"a": 3, "man": 1})
    assert found.tgt == Counter({"katze": 1})
    assert found.sample == pairs
    assert unseen(["a", "sleeps", "sleeps"], found.src) == ["sleeps"]


@pytest.mark.parametrize(
    ("count", "lines"), [(3, [0, 1, 2]), (4, [0, 1, 2, 3]), (9, [0, 4, 8]), (12, [0, 4, 8])]
)
def test_a_sample_is_spread_evenly(count: int, lines: list[int]) -> None:
    sample = EvenSample(4)
    for line in range(count):
        sample.add(Pair("", "", line))
    assert [pair.line for pair in sample.pairs] == lines


def test_lengths_that_few_exceed() -> None:
    assert quantile(Counter({5: 98, 9: 1, 50: 1}), 0.99) == 9
    assert quantile(Counter(), 0.99) == 0
