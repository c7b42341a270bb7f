"""The order of examples is a function: a bijection, exact shares, each row once per epoch, on any machine."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.mixture import BLOCK, ExampleOrder
from dragoman.data.permutation import permute
from dragoman.errors import DataError
from dragoman.hashing import hash64, hash64_each

KEYS = st.integers(0, 2**64 - 1)


def test_every_small_size_is_permuted():
    for size in range(1, 300):
        assert sorted(permute(np.arange(size), size, hash64(size))) == list(range(size))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 200_000), KEYS)
def test_any_size_is_permuted(size: int, key: int):
    assert np.array_equal(np.sort(permute(np.arange(size), size, key)), np.arange(size))


@settings(max_examples=25, deadline=None)
@given(st.integers(2**31, 2**62), KEYS, st.integers(0, 2**31 - 1000))
def test_huge_sizes_stay_inside_and_collide_nowhere(size: int, key: int, start: int):
    out = permute(np.arange(start, start + 1000), size, key)
    assert out.min() >= 0
    assert out.max() < size
    assert len(np.unique(out)) == 1000


def test_a_row_goes_to_the_same_place_alone_and_among_others():
    together = permute(np.arange(5000), 5000, 7)
    assert [permute(np.array([n]), 5000, 7)[0] for n in range(0, 5000, 97)] == together[::97].tolist()


def test_a_key_for_each_row_is_the_same_as_one_at_a_time():
    keys = hash64_each(5, np.arange(40, dtype=np.uint64))
    each = [permute(np.array([n]), 40, int(keys[n]))[0] for n in range(40)]
    assert permute(np.arange(40), 40, keys).tolist() == each


def test_different_keys_give_different_orders():
    assert len({tuple(permute(np.arange(50), 50, key)) for key in range(200)}) == 200


def test_places_are_spread_evenly():
    """Each of 16 rows lands in each of 16 places about equally often over 4000 keys (χ², 225 degrees)."""
    keys = np.repeat(hash64_each(1, np.arange(4000, dtype=np.uint64)), 16)
    out = permute(np.tile(np.arange(16), 4000), 16, keys).reshape(4000, 16)
    table = np.array([np.bincount(out[:, n], minlength=16) for n in range(16)])
    assert ((table - 250) ** 2 / 250).sum() < 320


def test_neighbours_do_not_stay_neighbours():
    out = permute(np.arange(100_000), 100_000, 3)
    assert abs(np.corrcoef(out[:-1], out[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(np.arange(100_000), out)[0, 1]) < 0.02


def test_a_number_out_of_range_is_refused():
    with pytest.raises(ValueError, match="range"):
        permute(np.array([3]), 3, 0)


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=4))
def test_mix_agrees_with_its_vector_form(values: list[int]):
    last = np.array([values[-1] & (2**64 - 1)], dtype=np.uint64)
    assert hash64(*values) == int(hash64_each(hash64(*values[:-1]), last)[0])


def test_mix_never_changes():
    """Runs rest on these numbers: a change here breaks every resumed run."""
    assert hash64(0) == 0xE220A8397B1DCDAF  # the first number of splitmix64 with seed 0
    assert hash64(1, 2, 3) == 0xD0734750FDE362B3
    assert permute(np.arange(8), 8, hash64(1)).tolist() == [5, 1, 3, 0, 7, 4, 6, 2]


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    count = draw(st.integers(1, 6))
    sizes = draw(st.lists(st.integers(1, 3000), min_size=count, max_size=count))
    weights = draw(st.lists(st.floats(1e-4, 100), min_size=count, max_size=count))
    return sizes, weights


@settings(max_examples=20, deadline=None)
@given(mixtures(), st.integers(0, 2**63 - 1))
def test_each_corpus_is_seen_once_before_any_row_comes_again(
    mixture: tuple[list[int], list[float]], seed: int
):
    sizes, weights = mixture
    corpus, row = ExampleOrder(sizes, weights, seed).rows(0, 8 * BLOCK)
    for c, size in enumerate(sizes):
        mine = row[corpus == c]
        for epoch in range(len(mine) // size):
            assert np.array_equal(np.sort(mine[epoch * size : (epoch + 1) * size]), np.arange(size))
        rest = mine[len(mine) // size * size :]
        assert len(np.unique(rest)) == len(rest)


@settings(max_examples=40, deadline=None)
@given(mixtures(), st.integers(1, 10**9))
def test_shares_add_up_never_shrink_and_are_met(mixture: tuple[list[int], list[float]], block: int):
    order = ExampleOrder(*mixture, seed=1)
    before, after = order.drawn(block * BLOCK), order.drawn((block + 1) * BLOCK)
    assert sum(after) == (block + 1) * BLOCK
    assert all(b <= a for b, a in zip(before, after, strict=True))
    for share, drawn in zip(order.shares, after, strict=True):
        assert abs(drawn - Fraction(sum(after) * share, sum(order.shares))) < len(after)


def test_three_to_one_is_exactly_three_to_one_in_every_block():
    corpus, _ = ExampleOrder([500, 90_000], [3, 1], seed=4).rows(0, 20 * BLOCK)
    assert (np.bincount(corpus.reshape(20, BLOCK).ravel()) == [15 * BLOCK, 5 * BLOCK]).all()
    assert all((block == 0).sum() == 768 for block in corpus.reshape(20, BLOCK))


def test_a_tiny_weight_is_met_over_many_blocks():
    corpus, _ = ExampleOrder([10, 10, 10], [1, 0.0001, 1], seed=4).rows(0, 200 * BLOCK)
    assert abs(int((corpus == 1).sum()) - 200 * BLOCK * 0.0001 / 2.0001) <= 2


@settings(max_examples=30, deadline=None)
@given(mixtures(), st.integers(0, 10**12), st.integers(1, 3000))
def test_any_stretch_is_a_part_of_the_whole(mixture: tuple[list[int], list[float]], start: int, count: int):
    order = ExampleOrder(*mixture, seed=9)
    corpus, row = order.rows(start, count)
    middle = count // 2
    left, right = order.rows(start, middle), order.rows(start + middle, count - middle)
    assert np.array_equal(corpus, np.concatenate([left[0], right[0]]))
    assert np.array_equal(row, np.concatenate([left[1], right[1]]))


def test_an_empty_corpus_is_refused_with_advice():
    with pytest.raises(DataError, match="no pairs"):
        ExampleOrder([3, 0], [1, 1], seed=1)


SCRIPT = """
from dragoman.data.mixture import ExampleOrder
import hashlib
corpus, row = ExampleOrder([1000, 70, 5], [0.5, 0.3, 0.2], seed=11).rows(12345, 9999)
print(hashlib.sha256(corpus.tobytes() + row.tobytes()).hexdigest())
"""


def test_the_order_is_the_same_under_any_hash_seed_and_thread_count():
    seen = set()
    for hash_seed, threads in (("0", "1"), ("1", "2"), ("4242", "4")):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
        )
        seen.add(done.stdout)
    assert len(seen) == 1
