"""One integer is the loader's whole state: resumed anywhere, on any number of ranks, the same rows."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.data.loader import GlobalBatch, Loader
from dragoman.data.pair import Pair
from dragoman.data.pieces import Piece
from dragoman.data.prefetch import prefetch
from dragoman.data.prepare import Done, ListedLines, PairFilter, Skip, StoreJob, write_shard
from dragoman.data.readers.bad_line import refuse
from dragoman.data.readers.lines import Span
from dragoman.data.store.reader import StoreReader
from dragoman.data.stores import StorePlan
from dragoman.errors import DataError
from dragoman.hashing import U64
from dragoman.protocols import Batch
from dragoman.text.specials import EOS, PAD
from dragoman.text.tokenizer import Row
from dragoman.text.tokenizer_pair import TokenizerPair
from support.stores import write_store

SIZES = (300, 45)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[StoreReader]:
    """Rows that name themselves: corpus c has the source [10 + c, row + 100, filler …]."""
    rng = np.random.default_rng(3)
    readers = []
    for c, size in enumerate(SIZES):
        folder = tmp_path_factory.mktemp(f"store{c}")
        pairs = [
            ([10 + c, row + 100] + [7] * rng.integers(0, 20), [8] * rng.integers(1, 20))
            for row in range(size)
        ]
        readers.append(StoreReader(write_store(folder, pairs, vocabulary=600, shard_pairs=64)))
    return readers


def make(
    stores: Sequence[StoreReader], weights: Sequence[float] = (3, 1), micro_batches: int = 4, **more: object
) -> Loader:
    settings: dict[str, object] = {"batch_tokens": 400, "micro_batches": micro_batches, "seed": 5, **more}
    return Loader(stores, weights, **settings)  # type: ignore[arg-type]


def take(loader: Loader, count: int, number: int = 0) -> list[GlobalBatch]:
    stream = loader.batches(number)
    try:
        return list(islice(stream, count))
    finally:
        stream.close()


def names(*batches: Batch) -> list[tuple[int, int]]:
    return [(int(row[0]) - 10, int(row[1]) - 100) for batch in batches for row in batch.src]


def same(a: Sequence[Batch], b: Sequence[Batch]) -> bool:
    return len(a) == len(b) and all(
        torch.equal(p, q) for x, y in zip(a, b, strict=True) for p, q in zip(x, y, strict=True)
    )


def test_an_epoch_of_one_corpus_has_every_row_once(stores: list[StoreReader]):
    loader = make(stores[:1], [1])
    batches = take(loader, loader.per_window)
    assert Counter(name for batch in batches for name in names(*batch.micro)) == Counter(
        {(0, row): 1 for row in range(SIZES[0])}
    )
    assert batches[-1].epoch == 1.0


def test_two_epochs_are_ordered_differently(stores: list[StoreReader]):
    loader = make(stores[:1], [1])
    rows = [names(*batch.micro) for batch in take(loader, 2 * loader.per_window)]
    first, second = rows[: loader.per_window], rows[loader.per_window :]
    assert sorted(chain.from_iterable(first)) == sorted(chain.from_iterable(second))
    assert first != second


def test_resuming_at_every_batch_equals_never_stopping(stores: list[StoreReader]):
    loader = make(stores)
    whole = take(loader, 3 * loader.per_window + 2)
    assert [batch.number for batch in whole] == list(range(len(whole)))
    for at in range(len(whole)):
        resumed = take(make(stores), 2, at)
        for a, b in zip(resumed, whole[at : at + 2], strict=False):
            assert (a.number, a.first_micro, a.epoch) == (b.number, b.first_micro, b.epoch)
            assert same(a.micro, b.micro)


@pytest.mark.parametrize("ranks", [2, 4, 8])  # with more ranks than micro-batches some rest
def test_any_number_of_ranks_sees_the_same_micro_batches(stores: list[StoreReader], ranks: int):
    alone = take(make(stores), 20)
    parts = [take(make(stores, rank=rank, ranks=ranks), 20) for rank in range(ranks)]
    for whole, *shared in zip(alone, *parts, strict=True):
        assert same(whole.micro, [micro for part in shared for micro in part.micro])
        assert [part.first_micro for part in shared] == [rank * 4 // ranks for rank in range(ranks)]


def test_a_rank_reads_the_lengths_of_its_own_windows_only(
    stores: list[StoreReader], monkeypatch: pytest.MonkeyPatch
):
    """So planning takes a rank as long on 1,024 ranks as alone."""
    planned = {}
    for ranks in (1, 1024):
        loader = make(stores, batch_tokens=100 * ranks, micro_batches=ranks, rank=ranks - 1, ranks=ranks)
        numbers: list[int] = []
        cut = Loader.cut
        monkeypatch.setattr(
            Loader, "cut", lambda self, n, seen=numbers, cut=cut: seen.append(n) or cut(self, n)
        )
        list(islice(loader.stream(0), 3 * loader.per_window))
        monkeypatch.setattr(Loader, "cut", cut)
        planned[ranks] = numbers
    assert planned[1] == [0, 1, 2]
    assert planned[1024] == [1023, 2047, 3071]


def test_batches_are_as_full_as_asked(stores: list[StoreReader]):
    """However large: each micro-batch has a window of its own."""
    for micro_batches, batch_tokens in ((1, 400), (4, 400), (4, 3000), (64, 6400)):
        loader = make(stores, (1, 1), batch_tokens=batch_tokens, micro_batches=micro_batches)
        areas = [
            sum(len(micro.src) * max(micro.src.shape[1], micro.tgt_in.shape[1]) for micro in batch.micro)
            for batch in take(loader, 2 * loader.per_window)
        ]
        assert np.mean(areas) <= 1.05 * batch_tokens
        if loader.order.total >= 4 * loader.rows_per_batch:
            assert np.mean(areas) >= 0.8 * batch_tokens


def test_the_examples_of_a_batch_are_known_by_its_number(stores: list[StoreReader]):
    for batch in take(make(stores), 20):
        told = make(stores, rank=1, ranks=2).examples(batch.number)
        rows = {(c, row) for c, store in enumerate(stores) for row in told[store.folder.name]}
        assert rows == set(names(*batch.micro))


def test_the_mixture_has_its_weights(stores: list[StoreReader]):
    seen = Counter(corpus for batch in take(make(stores, (1, 1)), 200) for corpus, _ in names(*batch.micro))
    assert sum(seen.values()) > 2048
    assert abs(seen[0] / sum(seen.values()) - 0.5) < 0.02


def test_one_pair_is_enough_for_any_number_of_micro_batches(tmp_path: Path):
    write_store(tmp_path, [([10, 100], [8])], vocabulary=600, shard_pairs=64)
    [batch] = take(make([StoreReader(tmp_path)], [1]), 1)
    assert [names(micro) for micro in batch.micro] == [[(0, 0)]] * 4


class Letters:
    """A tokenizer for tests: an id per character; resegmenting repeats the first id some times."""

    kind = "char"
    size = 600

    def encode(self, text: str) -> list[int]:
        return [4 + ord(letter) % 590 for letter in text]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(id - 4) for id in ids)

    def resegment(self, rows: Sequence[Row], keys: U64) -> list[Row]:
        return [np.append(row[:1].repeat(key % 5), row) for row, key in zip(rows, keys.tolist(), strict=True)]

    def piece(self, id: int) -> str:
        return chr(id - 4)

    def save(self, folder: Path, name: str) -> None:
        raise NotImplementedError


TEXT = TokenizerPair(Letters(), Letters(), joint=False)


def test_resegmented_examples_are_the_same_on_any_rank_and_after_resuming(stores: list[StoreReader]):
    whole = take(make(stores, resegment=TEXT), 12)
    parts = [take(make(stores, resegment=TEXT, rank=rank, ranks=2), 12) for rank in range(2)]
    for batch, *shared in zip(whole, *parts, strict=True):
        assert same(batch.micro, [micro for part in shared for micro in part.micro])
    resumed = take(make(stores, resegment=TEXT), 1, 7)[0]
    assert same(resumed.micro, whole[7].micro)
    assert not same(whole[0].micro, take(make(stores), 1)[0].micro)


def test_only_real_places_hold_ids(stores: list[StoreReader]):
    for batch in take(make(stores), 5):
        for micro in batch.micro:
            assert (micro.src[~micro.src_keep] == PAD).all()
            assert ((micro.src == EOS).sum(dim=1) == 1).all()


def test_closing_or_forgetting_the_stream_ends_its_thread(stores: list[StoreReader]):
    before = threading.active_count()
    stream = make(stores).batches()
    next(stream)
    assert threading.active_count() == before + 1
    stream.close()
    assert threading.active_count() == before
    stream = make(stores).batches()
    next(stream)
    del stream
    gc.collect()
    assert threading.active_count() == before


def test_prefetch_works_a_bounded_way_ahead_and_passes_errors_on():
    made = []

    def source() -> Iterator[int]:
        for n in range(6):
            made.append(n)
            yield n
        raise DataError("the disk is gone")

    stream = prefetch(source(), depth=2)
    assert next(stream) == 0
    assert max(made) <= 3
    with pytest.raises(DataError, match="the disk is gone"):
        list(stream)
    assert list(prefetch(iter([1, 2, 3]))) == [1, 2, 3]


SCRIPT = """
import hashlib, sys
from itertools import islice
from pathlib import Path
from dragoman.data.loader import Loader
from dragoman.data.store.reader import StoreReader
stores = [StoreReader(Path(p)) for p in sys.argv[1:]]
loader = Loader(stores, [3, 1], batch_tokens=400, micro_batches=4, seed=5)
stream = loader.batches()
print([batch.micro[0].src.tolist() for batch in islice(stream, 9)])
"""


def test_another_process_sees_the_same_and_ends_with_its_stream_open(stores: list[StoreReader]):
    env = {**os.environ, "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", SCRIPT, *(str(store.folder) for store in stores)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60)
    firsts = [batch.micro[0] for batch in take(make(stores), 9)]
    assert done.stdout == f"{[first.src.tolist() for first in firsts]}\n"
    assert done.stderr == ""


def prepared(
    pairs: Sequence[tuple[str, str]], folder: Path, skip: Skip | None = None
) -> tuple[StoreReader, list[Done]]:
    job = StoreJob(folder, folder / "text", "x", shard_pairs=10, encode=PairFilter(5, skip), is_strict=True)
    numbered = [Pair(src, tgt, line) for line, (src, tgt) in enumerate(pairs, start=1)]
    pieces = [Piece(n, ("a.tsv",), (Span(0, 10 * n, 10),)) for n in range(max(1, -(-len(pairs) // 10)))]
    done: list[Done] = []
    for piece in pieces:
        some = iter(numbered[piece.spans[0].before :][:10])
        done += write_shard(job, piece.number, some, TEXT, ListedLines(is_strict=True))
    return StorePlan("a.tsv", job, pieces).joined(TEXT, refuse), done


def test_prepare_drops_and_counts_what_cannot_be_learnt_from(tmp_path: Path):
    pairs = [
        ("ab", "c"),
        ("", "c"),
        ("ab", ""),
        ("abcdef", "c"),
        ("a", "abcdef"),
        ("held", "out"),
        ("abcde", "x"),
    ]
    reader, done = prepared(pairs, tmp_path, skip=lambda pair: pair.src == "held")
    assert reader.manifest.counts == {"read": 7, "skipped": 1, "empty": 2, "too_long": 2, "kept": 2}
    assert [src.tolist() for src, _ in reader.read(np.arange(2))] == [
        TEXT.src.encode("ab"),
        TEXT.src.encode("abcde"),
    ]
    assert done == [(7, sum(len(src) + len(tgt) + 2 for src, tgt in pairs), 0)]


def test_prepare_streams_in_order_over_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.data.pair.BLOCK_PAIRS", 7)
    pairs = [(f"{n:03d}", f"{n:02d}") for n in range(100)]
    reader, _ = prepared(pairs, tmp_path)
    assert [TEXT.src.decode(src.tolist()) for src, _ in reader.read(np.arange(100))] == [
        src for src, _ in pairs
    ]


def test_preparing_nothing_says_why_and_leaves_no_store(tmp_path: Path):
    with pytest.raises(DataError, match="2 with more than 5 tokens") as caught:
        prepared([("abcdefg", "x"), ("abcdefg", "x")], tmp_path)
    assert caught.value.hint == "data.max_length=10"
    with pytest.raises(DataError, match="No pairs are left"):
        prepared([], tmp_path)
    with pytest.raises(DataError, match="is incomplete"):
        StoreReader(tmp_path)


class Doubled(TokenizerPair):
    """Samples segmentations that are twice as long."""

    def __init__(self) -> None:
        pass

    def resegment(self, pairs: Sequence[tuple[Row, Row]], keys: U64) -> list[tuple[Row, Row]]:
        return [(np.tile(src, 2), np.tile(tgt, 2)) for src, tgt in pairs]


def test_a_sampled_segmentation_that_is_too_long_is_not_used(stores: list[StoreReader]) -> None:
    """Positions end there: the stored ids fit, and stay."""
    loader = make(stores, longest=22)
    pairs = [([10, 100, 7], [8]), ([10] * 12, [8]), ([10], [8] * 12), ([10] * 22, [8] * 22)]
    found = loader.redraw(Doubled(), pairs, np.arange(4))
    assert [(len(src), len(tgt)) for src, tgt in found] == [(6, 2), (12, 1), (1, 12), (22, 22)]
