"""Windows are cut into batches that keep the budget and lose nothing, by their arguments alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.bucketing import WINDOW, Places, batches, window_size
from dragoman.data.collate import collate, collate_sources
from dragoman.text.specials import BOS, EOS, PAD

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=300)


def cut(lengths: list[tuple[int, int]], tokens: int, micro: int, key: int = 1) -> list[list[Places]]:
    src_len, tgt_len = np.array(lengths, np.int64).T
    return batches(src_len, tgt_len, batch_tokens=tokens, micro_batches=micro, key=key)


@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(1, 2000), st.integers(1, 8), st.integers(0, 2**64 - 1))
def test_every_example_is_in_one_batch(lengths: list[tuple[int, int]], tokens: int, micro: int, key: int):
    found = cut(lengths, tokens, micro, key)
    places = np.concatenate([part for parts in found for part in parts])
    assert sorted(places) == list(range(len(lengths)))
    assert all(len(parts) == micro for parts in found)


@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(1, 2000), st.integers(1, 8))
def test_the_token_budget_is_kept(lengths: list[tuple[int, int]], tokens: int, micro: int):
    for parts in cut(lengths, tokens, micro):
        places = np.concatenate(parts)
        longest = max(max(lengths[place]) for place in places) + 1
        assert len(places) * longest <= tokens or len(places) <= micro


@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(1, 2000), st.integers(1, 8))
def test_no_micro_batch_is_empty_while_there_are_rows(
    lengths: list[tuple[int, int]], tokens: int, micro: int
):
    found = cut(lengths, tokens, micro)
    short = [parts for parts in found if sum(map(len, parts)) < micro]
    assert len(short) <= 1
    if len(lengths) < 2 * micro:
        return
    for parts in found:
        rows = sum(map(len, parts))
        assert sum(len(part) > 0 for part in parts) == min(rows, micro)
        assert all(len(part) <= 1 for part in parts) or rows >= micro


def test_micro_batches_cost_about_the_same():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 100, (5000, 2))
    cost = lengths.max(axis=1) + 1
    for parts in batches(*lengths.T, batch_tokens=4096, micro_batches=4, key=1):
        costs = [int(cost[part].max()) * len(part) for part in parts]
        assert max(costs) <= 1.25 * sum(costs) / 4


def test_batches_of_a_window_are_of_like_size():
    """No last batch of a few rows: the same number of batches, evenly filled."""
    found = cut([(9, 9)] * 1000, tokens=4000, micro=1)
    assert sorted(len(parts[0]) for parts in found) == [332, 334, 334]
    found = cut([(9, 9)] * 801, tokens=4000, micro=1)
    assert sorted(len(parts[0]) for parts in found) == [267, 267, 267]


def test_batches_do_not_come_in_order_of_length():
    lengths = [(n // 20 + 1, n // 20 + 1) for n in range(1000)]
    means = [np.mean([lengths[p][1] for p in np.concatenate(parts)]) for parts in cut(lengths, 600, 1)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


def test_the_key_decides_the_order_and_the_ties():
    lengths = [(5, 5)] * 100
    first, again, other = (cut(lengths, 60, 2, key) for key in (1, 1, 2))
    same = [
        np.array_equal(a, b) for x, y in zip(first, again, strict=True) for a, b in zip(x, y, strict=True)
    ]
    assert all(same)
    assert not np.array_equal(np.concatenate(first[0]), np.concatenate(other[0]))


@given(st.integers(1, 10**10))
def test_windows_just_cover_an_epoch(total: int):
    size = window_size(total)
    windows = -(-total // size)
    assert size <= WINDOW
    assert windows == -(-total // WINDOW)
    assert windows * size - total < windows


def test_a_small_corpus_is_one_window():
    assert window_size(7) == 7
    assert window_size(WINDOW + 1) == WINDOW // 2 + 1


IDS = st.lists(st.integers(4, 99), max_size=9)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=9))
def test_collate_gives_back_its_rows(pairs: list[tuple[list[int], list[int]]]):
    batch = collate(pairs)
    for row, (src, tgt) in enumerate(pairs):
        assert batch.src[row][batch.src_keep[row]].tolist() == [*src, EOS]
        assert batch.tgt_in[row][batch.tgt_keep[row]].tolist() == [BOS, *tgt]
        assert batch.tgt_out[row][batch.tgt_keep[row]].tolist() == [*tgt, EOS]
    for ids, keep in (
        (batch.src, batch.src_keep),
        (batch.tgt_in, batch.tgt_keep),
        (batch.tgt_out, batch.tgt_keep),
    ):
        assert (ids[~keep] == PAD).all()
        assert ids.dtype == torch.int64
        assert keep.dtype == torch.bool
        assert keep.any(dim=0).all()  # no column of padding only


def test_a_batch_of_one_has_no_padding():
    batch = collate([([7, 8, 9], [5])])
    assert batch.src.tolist() == [[7, 8, 9, EOS]]
    assert batch.tgt_in.tolist() == [[BOS, 5]]
    assert batch.tgt_out.tolist() == [[5, EOS]]
    assert batch.src_keep.all()
    assert batch.tgt_keep.all()


def test_stored_ids_collate_like_lists():
    pairs = [([7, 8, 9], [5]), ([4], [6, 7])]
    stored = [(np.array(src, np.uint16), np.array(tgt, np.uint16)) for src, tgt in pairs]
    for a, b in zip(collate(pairs), collate(stored), strict=True):
        assert torch.equal(a, b)
    src, keep = collate_sources([src for src, _ in pairs])
    assert torch.equal(src, collate(pairs).src)
    assert torch.equal(keep, collate(pairs).src_keep)


@pytest.mark.parametrize("micro", [1, 2, 8])
def test_one_example_longer_than_the_budget_is_still_a_batch(micro: int):
    found = cut([(500, 3)], tokens=10, micro=micro)
    assert [[len(part) for part in parts] for parts in found] == [[1] + [0] * (micro - 1)]
