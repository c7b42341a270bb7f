"""IBM Model 1 by hand numbers, and on a corpus whose alignments are known."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from dragoman.models import ibm1
from dragoman.models.ibm1 import PaddedPairs, TranslationTable, learn, pair_keys, posterior

WORDS, V = 40, 100
NULL = 3


def sentence(src: list[list[int]], tgt: list[list[int]]) -> PaddedPairs:
    arrays = [np.array(side, dtype=np.int64) for side in (src, tgt)]
    return PaddedPairs(arrays[0], arrays[0] > 0, arrays[1], arrays[1] > 0)


def corpus(count: int, together: int) -> Iterator[tuple[PaddedPairs, np.ndarray]]:
    """Word w is translated by w + 50, in any order; now and then the target has a word of its own."""
    draw = np.random.default_rng(1)
    for _ in range(count // together):
        src = np.zeros((together, 8), dtype=np.int64)
        tgt = np.zeros((together, 9), dtype=np.int64)
        truth = np.full((together, 9), -1)
        for row in range(together):
            length = int(draw.integers(3, 8))
            src[row, :length] = 4 + draw.permutation(WORDS)[:length]
            src[row, length] = NULL
            order = draw.permutation(length)
            tgt[row, :length], truth[row, :length] = src[row, order] + 50, order
            if draw.random() < 0.3:
                tgt[row, length], truth[row, length] = 99, length  # from nothing
        yield PaddedPairs(src, src > 0, tgt, tgt > 0), truth


def right(table: TranslationTable) -> float:
    hits = [
        (posterior(table(pair_keys(pairs, V)), pairs).argmax(axis=2) == truth)[truth >= 0]
        for pairs, truth in corpus(200, 20)
    ]
    return float(np.concatenate(hits).mean())


def test_one_iteration_by_hand() -> None:
    """das Haus ↔ the house, das Buch ↔ the book (Koehn 2010, figure 4.4, without the empty word)."""
    das, haus, buch, the, house, book = 4, 5, 6, 7, 8, 9
    pairs = sentence([[das, haus], [das, buch]], [[the, house], [the, book]])
    table = learn(lambda: [pairs], 10, 1)
    expected = {(das, the): 1 / 2, (das, house): 1 / 4, (haus, the): 1 / 2, (buch, book): 1 / 2}
    for (x, y), t in expected.items():
        assert table(np.array([x * 10 + y])) == pytest.approx([t])
    assert table(np.array([haus * 10 + book])) == [0.0]
    table = learn(lambda: [pairs], 10, 2)  # a(das) = ½ / (½ + ½); a(haus | house) = ½ / (¼ + ½)
    assert table(np.array([das * 10 + the])) == pytest.approx([1 / (1 + 2 / 3)])
    assert table(np.array([haus * 10 + house])) == pytest.approx([(2 / 3) / (1 / 2 + 2 / 3)])


def test_known_alignments_are_found() -> None:
    table = learn(lambda: (pairs for pairs, _ in corpus(400, 20)), V, 5)
    assert right(table) > 0.99


def test_the_likelihood_rises() -> None:
    def likelihood(table: TranslationTable) -> float:
        values = [table(pair_keys(pairs, V)) * pairs.src_keep[:, None] for pairs, _ in corpus(200, 20)]
        means = [np.log(t.sum(axis=2)[p.tgt_keep]) for t, (p, _) in zip(values, corpus(200, 20), strict=True)]
        return float(np.concatenate(means).sum())

    found = [likelihood(learn(lambda: (p for p, _ in corpus(200, 20)), V, n)) for n in (1, 2, 3, 4)]
    assert all(a < b for a, b in pairwise(found))


def test_a_small_table_is_enough() -> None:
    """1,700 pairs of words are seen; the 200 that count most stay, and do almost as well."""
    table = learn(lambda: (pairs for pairs, _ in corpus(400, 20)), V, 5, largest=200)
    assert len(table.keys) <= 200
    assert right(table) > 0.9


def test_what_is_as_good_as_nothing_is_dropped() -> None:
    table = ibm1.normalised(np.array([10, 11, 12]), np.array([9_999.0, 0.5, 0.5]), 10)
    assert table.keys.tolist() == [10]
