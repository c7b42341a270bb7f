"""Windows are cut into as many batches as asked, evenly, and lose nothing, by their arguments alone."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.bucketing import WINDOW, Places, buckets, greedy, padded, window_size
from dragoman.data.collate import collate, collate_sources
from dragoman.text.specials import BOS, EOS, PAD

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=300)


def cut(lengths: list[tuple[int, int]], count: int, key: int = 1) -> list[Places]:
    src_len, tgt_len = np.array(lengths, np.int64).T
    return buckets(src_len, tgt_len, count, key)


@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_every_example_is_in_one_of_as_many_batches(lengths: list[tuple[int, int]], count: int, key: int):
    found = cut(lengths, min(count, len(lengths)), key)
    assert sorted(np.concatenate(found)) == list(range(len(lengths)))
    assert len(found) == min(count, len(lengths))
    assert all(len(places) for places in found)


@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(1, 2000))
def test_the_largest_batch_is_as_small_as_it_can_be(lengths: list[tuple[int, int]], tokens: int):
    """As many batches as a budget needs keep that budget."""
    longer = padded(*np.array(lengths, np.int64).T)
    found = cut(lengths, len(greedy(np.sort(longer), tokens)))
    for places in found:
        assert len(places) * longer[places].max() <= max(tokens, longer.max())


def test_batches_of_a_window_are_of_like_size():
    """No last batch of a few rows: the same number of batches, evenly filled."""
    assert sorted(len(places) for places in cut([(9, 9)] * 1000, 3)) == [332, 334, 334]
    assert sorted(len(places) for places in cut([(9, 9)] * 801, 3)) == [267, 267, 267]
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 100, (5000, 2))
    longer = padded(*lengths.T)
    areas = [len(places) * int(longer[places].max()) for places in buckets(*lengths.T, count=80, key=1)]
    assert min(areas) > 0.8 * max(areas)
    assert max(areas) < 1.05 * longer.sum() / 80  # there is little padding on the longer side


def test_batches_do_not_come_in_order_of_length():
    lengths = [(n // 20 + 1, n // 20 + 1) for n in range(1000)]
    means = [np.mean([lengths[place][1] for place in places]) for places in cut(lengths, 40)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


def test_the_key_decides_the_order_and_the_ties():
    lengths = [(5, 5)] * 100
    first, again, other = (cut(lengths, 10, key) for key in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


@given(st.integers(1, 10**10), st.integers(0, 10), st.integers(WINDOW, 10**7))
def test_whole_updates_just_cover_an_epoch(total: int, doublings: int, most: int):
    micro_batches = 2**doublings
    size = window_size(total, micro_batches, most)
    rounds = -(-total // (micro_batches * size))
    assert size <= most
    assert rounds == -(-total // (micro_batches * most))
    assert rounds * micro_batches * size - total < rounds * micro_batches


def test_a_small_corpus_is_one_window_per_micro_batch():
    assert window_size(7, 1) == 7
    assert window_size(7, 2) == 4
    assert window_size(WINDOW + 1, 1) == WINDOW // 2 + 1


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
