"""Alignments by the diagonal and by IBM Model 1, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.analysis.aligners import best_links, diagonal, fast_align_links, ibm1_links
from dragoman.analysis.lexicon import Lexicon
from dragoman.models.diagonal_prior import diagonal_prior_of


@pytest.mark.parametrize(
    ("S", "T", "links"),
    [
        (3, 3, [(0, 0), (1, 1), (2, 2)]),
        (2, 4, [(0, 0), (0, 1), (1, 2), (1, 3)]),
        (4, 2, [(1, 0), (3, 1)]),
        (5, 1, [(2, 0)]),
        (0, 2, []),
        (2, 0, []),
    ],
)
def test_the_diagonal(S: int, T: int, links: list[tuple[int, int]]) -> None:
    assert diagonal(S, T) == links


def test_the_last_column_is_no_link() -> None:
    weights = np.array([[0.1, 0.7, 0.2], [0.2, 0.1, 0.7], [0.0, 0.0, 0.0]])
    assert best_links(weights) == [(1, 0)]


def test_ibm1_links_words_in_any_order() -> None:
    pairs = [(["a", "b"], ["y", "x"]), (["b", "c"], ["z", "y"]), (["c", "a"], ["x", "z"])] * 3
    assert ibm1_links(["c", "a", "b"], ["x", "y", "z"], Lexicon(pairs)) == [(1, 0), (2, 1), (0, 2)]


def test_fast_align_prefers_the_diagonal() -> None:
    """Of two equal words, IBM Model 1 links the first; the prior links each to its neighbour."""
    pairs = [(["a", "b"], ["x", "y"]), (["b", "a"], ["y", "x"]), (["a"], ["x"]), (["b"], ["y"])] * 3
    src, tgt = ["a", "b", "a"], ["x", "y", "x"]
    assert ibm1_links(src, tgt, Lexicon(pairs)) == [(0, 0), (1, 1), (0, 2)]
    assert fast_align_links(src, tgt, Lexicon(pairs, prior=diagonal_prior_of)) == [(0, 0), (1, 1), (2, 2)]
