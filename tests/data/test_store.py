"""The token store gives back what was written, is whole or absent, and notices damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.store.layout import MANIFEST, fingerprint, read_manifest
from dragoman.data.store.reader import HANDLES, StoreReader, open_current
from dragoman.data.store.writer import ShardFacts, join, new_shard, read_shard
from dragoman.errors import CheckpointError, DataError
from support.stores import write_shards
from support.stores import write_store as write

Pairs = Sequence[tuple[list[int], list[int]]]


def some_pairs(count: int, seed: int = 0, vocabulary: int = 1000) -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(seed)
    return [
        (rng.integers(4, vocabulary, a).tolist(), rng.integers(4, vocabulary, b).tolist())
        for a, b in rng.integers(1, 30, (count, 2))
    ]


def read(reader: StoreReader, rows: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    return [(src.tolist(), tgt.tolist()) for src, tgt in reader.read(np.array(rows, np.int64))]


ids = st.lists(st.integers(0, 69_999), max_size=12)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(ids, ids), max_size=40),
    st.integers(1, 50),
    st.sampled_from([70_000, 2**32 - 1]),
    st.data(),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: Pairs,
    shard_pairs: int,
    vocabulary: int,
    data: st.DataObject,
):
    folder = tmp_path_factory.mktemp("store")
    reader = StoreReader(write(folder, pairs, vocabulary=vocabulary, shard_pairs=shard_pairs))
    assert len(reader) == len(pairs)
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=60)) if pairs else []
    assert read(reader, rows) == [pairs[row] for row in rows]
    src_len, tgt_len = reader.lengths(np.array(rows, np.int64))
    assert list(zip(src_len, tgt_len, strict=True)) == [(len(pairs[r][0]), len(pairs[r][1])) for r in rows]


def test_shards_of_different_sizes_keep_their_order(tmp_path: Path):
    """Some pairs of a piece are dropped; sometimes all of them."""
    pairs, sizes, shards = some_pairs(200), [64, 3, 0, 50, 0, 0, 61, 22, 0], []
    for number, size in enumerate(sizes):
        start, facts = sum(sizes[:number]), ShardFacts("x")
        with new_shard(tmp_path, number, vocabulary=1000, shard_pairs=64, facts=facts) as writer:
            for first in range(start, start + size, 7):
                writer.extend(pairs[first : min(first + 7, start + size)])
        shards.append(facts)
    join(tmp_path, shards, vocabulary=1000, shard_pairs=64)
    reader = StoreReader(tmp_path)
    assert read(reader, range(200)) == pairs
    rows = [199, 67, 66, 0, 63, 64, 116, 117, 178]
    assert read(reader, rows) == [pairs[row] for row in rows]
    assert [shard.pairs for shard in reader.manifest.shards] == sizes
    assert reader.manifest.src_tokens == sum(len(src) for src, _ in pairs)


def test_small_vocabularies_take_two_bytes_an_id(tmp_path: Path):
    pairs = some_pairs(50)
    tokens = sum(len(src) + len(tgt) for src, tgt in pairs)
    for vocabulary, width in ((65_535, 2), (65_536, 4)):
        write(tmp_path, pairs, vocabulary=vocabulary)
        assert (tmp_path / "00000/data").stat().st_size == width * tokens


def test_more_shards_than_open_files_are_read(tmp_path: Path):
    pairs = some_pairs(HANDLES + 20)
    reader = StoreReader(write(tmp_path, pairs, shard_pairs=1))
    for _ in range(2):
        assert read(reader, range(len(pairs))) == pairs
        assert len(reader.data.handles) <= HANDLES


def test_an_id_beyond_the_vocabulary_is_refused_and_no_store_is_left(tmp_path: Path):
    with pytest.raises(ValueError, match="not in range"):
        write(tmp_path, [([4], [1000])])
    with pytest.raises(DataError, match="is incomplete"):
        StoreReader(tmp_path)


def test_a_failure_while_writing_leaves_no_store_and_no_temporary_folder(tmp_path: Path):
    write(tmp_path, some_pairs(10))
    with pytest.raises(ValueError, match="not in range"):
        write(tmp_path, [*some_pairs(7), ([4], [5000])], shard_pairs=5)
    assert open_current(tmp_path, "x") is None
    assert not list(tmp_path.glob(".*"))


def test_a_killed_writer_leaves_whole_shards_and_the_next_one_starts_clean(tmp_path: Path):
    script = textwrap.dedent("""
        import sys
        from itertools import count
        from pathlib import Path
        from dragoman.data.store.writer import ShardFacts, new_shard
        for number in count():
            facts = ShardFacts("x")
            with new_shard(Path(sys.argv[1]), number, vocabulary=50, shard_pairs=7, facts=facts) as writer:
                writer.extend([([4, 5], [6])] * 7)
    """)
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    deadline = time.monotonic() + 15
    while not (tmp_path / "00003").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert read_shard(tmp_path, 3, verified=True)
    with pytest.raises(DataError, match="is incomplete") as caught:
        StoreReader(tmp_path)
    assert f"Delete the folder {tmp_path}" in caught.value.hint
    pairs = some_pairs(3)
    assert read(StoreReader(write(tmp_path, pairs)), range(3)) == pairs
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["00000", MANIFEST]


@pytest.mark.parametrize("name", ["data", "index", "shard.json", MANIFEST])
def test_a_damaged_shard_is_not_taken_for_a_finished_one(tmp_path: Path, name: str):
    write_shards(tmp_path, some_pairs(20), vocabulary=1000)
    assert read_shard(tmp_path, 0, verified=True)
    flip(tmp_path / "00000" / name, 9)
    assert not read_shard(tmp_path, 0, verified=True)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("name", ["00000/data", "00000/index", "00001/data", "00001/index", MANIFEST])
def test_every_flipped_bit_of_a_small_store_is_noticed(tmp_path: Path, name: str):
    write(tmp_path, some_pairs(20), shard_pairs=10)
    content = (tmp_path / name).read_bytes()
    for at in range(0, len(content), max(1, len(content) // 40)):
        flip(tmp_path / name, at)
        with pytest.raises(DataError) as caught:
            StoreReader(tmp_path)
        assert name in caught.value.where
        assert "Delete the folder" in caught.value.hint
        (tmp_path / name).write_bytes(content)
    StoreReader(tmp_path)


def test_flips_in_a_large_store_are_found_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.data.store.reader.SMALL", 0)
    write(tmp_path, some_pairs(20))
    flip(tmp_path / "00000/data", 11)
    with pytest.raises(DataError, match="was changed"):
        StoreReader(tmp_path).verify()


@pytest.mark.parametrize("name", ["00000/data", "00000/index", "00001/data", "00001/index"])
def test_no_flipped_bit_of_a_large_store_becomes_another_token(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    """It is too large to be read whole when it is opened, so what is read is checked."""
    monkeypatch.setattr("dragoman.data.store.reader.SMALL", 0)
    pairs = some_pairs(20)
    reader = StoreReader(write(tmp_path, pairs, shard_pairs=10))
    content = (tmp_path / name).read_bytes()
    for at in range(0, len(content), max(1, len(content) // 60)):
        flip(tmp_path / name, at)
        with pytest.raises(DataError, match="was changed") as caught:
            read(reader, range(20))
        assert caught.value.where == str(tmp_path / name)
        assert f"Delete the folder {tmp_path}" in caught.value.hint
        if name.endswith("index"):  # the lengths decide how the stream is cut into batches
            with pytest.raises(DataError, match="was changed"):
                reader.lengths(np.arange(20))
        (tmp_path / name).write_bytes(content)
    assert read(reader, range(20)) == pairs


def test_a_record_is_right_in_its_own_place_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.data.store.reader.SMALL", 0)
    reader = StoreReader(write(tmp_path, some_pairs(20), shard_pairs=10))
    first, second = (tmp_path / f"0000{n}/index" for n in range(2))
    records = first.read_bytes(), second.read_bytes()
    second.write_bytes(records[0])
    first.write_bytes(records[1])
    with pytest.raises(DataError, match="was changed"):
        reader.lengths(np.arange(20))


@pytest.mark.parametrize("name", ["00000/data", "00000/index"])
def test_a_truncated_shard_is_noticed_at_any_size(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.data.store.reader.SMALL", 0)
    write(tmp_path, some_pairs(20))
    reader = StoreReader(tmp_path)
    os.truncate(tmp_path / name, (tmp_path / name).stat().st_size - 1)
    with pytest.raises(DataError, match="bytes"):
        StoreReader(tmp_path)
    with pytest.raises(DataError, match="is truncated"):
        reader.read(np.arange(20))
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match="cannot be read"):
        StoreReader(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "null", '{"format": "dragoman-store", "version": 99}', "[" * 5000]
)
def test_a_foreign_manifest_is_refused(tmp_path: Path, content: str):
    write(tmp_path, some_pairs(3))
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(DataError):
        StoreReader(tmp_path)


def test_a_store_is_current_only_for_what_it_was_made_from(tmp_path: Path):
    assert open_current(tmp_path, "x") is None
    write(tmp_path, some_pairs(3), made_from="x")
    assert open_current(tmp_path, "x") is not None
    assert open_current(tmp_path, "y") is None
    flip(tmp_path / "00000/data", 0)
    assert open_current(tmp_path, "x") is None


def test_the_fingerprint_follows_sources_vocabulary_and_settings():
    first = fingerprint(["a1", "b2"], {"joint.model": "c3"}, [10])
    assert first == fingerprint(["a1", "b2"], {"joint.model": "c3"}, [10])
    others = [
        fingerprint(["b2", "a1"], {"joint.model": "c3"}, [10]),
        fingerprint(["a1", "b2"], {"joint.model": "c4"}, [10]),
        fingerprint(["a1", "b2"], {"joint.model": "c3"}, [11]),
    ]
    assert len({first, *others}) == 4


def test_rows_outside_of_the_store_are_refused(tmp_path: Path):
    reader = StoreReader(write(tmp_path, some_pairs(3)))
    for row in (-1, 3):
        with pytest.raises(IndexError):
            reader.read(np.array([row]))


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="could not be written"):
        write(tmp_path / "file" / "store", some_pairs(1))


def test_nothing_on_disk_is_code(tmp_path: Path):
    write(tmp_path, some_pairs(3))
    json.loads((tmp_path / MANIFEST).read_text())
    assert read_manifest(tmp_path).pairs == 3
    assert sorted(os.listdir(tmp_path)) == ["00000", MANIFEST]
    assert sorted(os.listdir(tmp_path / "00000")) == [MANIFEST, "data", "index", "shard.json"]
