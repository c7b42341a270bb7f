"""Scores by length of the source: every sentence in one bucket, and each bucket scored as if alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.metrics.length_buckets import BUCKETS, buckets_of, by_length, lengths_of
from dragoman.metrics.report import score


@given(st.lists(st.integers(0, 30), min_size=1, max_size=80))
def test_every_sentence_is_in_one_bucket_and_lengths_do_not_overlap(lengths: list[int]) -> None:
    sizes = np.array(lengths)
    buckets = buckets_of(sizes)
    assert 1 <= len(buckets) <= BUCKETS
    assert sorted(np.concatenate(buckets).tolist()) == list(range(len(lengths)))
    for before, after in pairwise(buckets):
        assert sizes[before].max() < sizes[after].min()


def test_many_lengths_give_buckets_of_the_same_size() -> None:
    assert [len(ids) for ids in buckets_of(np.arange(100))] == [20] * 5


def test_sources_of_one_word_are_measured_in_characters() -> None:
    assert lengths_of(["ab", "abcd e", "abc"])[0] == "characters"
    unit, lengths = lengths_of(["a b", "", "a b c"])
    assert (unit, lengths.tolist()) == ("words", [2, 0, 3])


def test_a_bucket_scores_as_its_sentences_alone() -> None:
    sources = [" ".join("x" * n) for n in range(1, 41)]
    outputs = ["a b c d" if n % 3 else "a c d" for n in range(40)]
    wanted = ["a b c d"] * 40
    found = by_length(sources, outputs, wanted, metrics=["bleu", "ter", "cer"])
    assert [(one.shortest, one.longest) for one in found.buckets] == [
        (1, 8),
        (9, 16),
        (17, 24),
        (25, 32),
        (33, 40),
    ]
    assert found.buckets[1].report == score(outputs[8:16], wanted[8:16], metrics=["bleu", "ter", "cer"])
    assert sum(bucket["sentences"] for bucket in found.asdict()["buckets"]) == 40


def test_a_bucket_without_text_is_no_error() -> None:
    sources, wanted = ["", "", "a b c", "a b c d"], ["", "", "x", "y"]
    found = by_length(sources, wanted, wanted)
    assert [one.report.sentences for one in found.buckets] == [2, 1, 1]
