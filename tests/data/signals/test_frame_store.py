"""Frames are in the token store as ids are: read at random, checked, bucketed and collated the same way."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from dragoman.config.data import DataConfig
from dragoman.config.parts.source import TextSource
from dragoman.config.text import TextConfig
from dragoman.data.build import TrainingData, build_data, carry_out, plan_data
from dragoman.data.collate import collate
from dragoman.data.examples import Files
from dragoman.data.executors import in_pool
from dragoman.data.identity import refuse_other_rows
from dragoman.data.loader import Loader
from dragoman.data.signals.build import build_signals, read_frames
from dragoman.data.store.layout import MANIFEST, Frames
from dragoman.data.store.reader import StoreReader
from dragoman.data.store.writer import ShardFacts, join, new_shard
from dragoman.errors import DataError
from support.signals import write_pictures, write_series, write_tones

TEXTS = ["cab", "abba", "deed", "bead", "face", "decade", "dab", "ace", "fade", "cede"] * 8
KINDS = {
    "picture": (write_pictures, {"kind": "picture", "height": 16}),
    "sound": (write_tones, {"kind": "sound", "sample_rate": 8000, "mels": 40}),
    "numbers": (write_series, {"kind": "numbers", "features": 3}),
}


def built(folder: Path, train: Path, source: dict[str, Any], **more: Any) -> TrainingData:
    data = DataConfig.model_validate({"train": str(train), "source": source, "hold_out": 4, **more})
    return build_data(data, TextConfig(kind="char"), folder, examples=examples_of(data))


def examples_of(data: DataConfig) -> Files:
    assert not isinstance(data.source, TextSource)
    return Files(signals=build_signals(data.source))


@settings(max_examples=20, deadline=None)
@given(st.data(), st.sampled_from(["|u1", "<f2"]), st.integers(1, 5), st.integers(1, 7))
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, dtype: str, features: int, shard_pairs: int
):
    folder, frames = tmp_path_factory.mktemp("store"), Frames(dtype, features)
    lengths = data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=20))
    rng = np.random.default_rng(1)
    pairs = [
        ((rng.random((m, features)) * 255).astype(dtype), rng.integers(0, 70_000, n).tolist())
        for m, n in lengths
    ]
    shards = []
    for number, start in enumerate(range(0, len(pairs), shard_pairs)):
        shards.append(ShardFacts("x"))
        form = {"vocabulary": 70_000, "shard_pairs": shard_pairs, "frames": frames}
        with new_shard(folder, number, facts=shards[-1], **form) as writer:
            writer.extend(pairs[start : start + shard_pairs])
    join(folder, shards, vocabulary=70_000, shard_pairs=shard_pairs, frames=frames)
    reader = StoreReader(folder)
    rows = np.array(data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=30)), np.int64)
    for row, (src, tgt) in zip(rows, reader.read(rows), strict=True):
        assert (src.dtype, src.shape) == (np.dtype(dtype), pairs[row][0].shape)
        assert (src == pairs[row][0]).all()
        assert tgt.tolist() == pairs[row][1]
    assert [list(both) for both in zip(*reader.lengths(rows), strict=True)] == [
        list(lengths[r]) for r in rows
    ]


def test_only_frames_of_the_form_are_written(tmp_path: Path):
    form = {"vocabulary": 9, "shard_pairs": 9, "frames": Frames("<f2", 3)}
    with (
        pytest.raises(ValueError, match="are not Frames"),
        new_shard(tmp_path, 0, facts=ShardFacts("x"), **form) as writer,
    ):
        writer.extend([(np.zeros((4, 3)), [1])])


@pytest.mark.parametrize("kind", KINDS)
def test_a_corpus_of_files_becomes_a_store(tmp_path: Path, kind: str):
    write, source = KINDS[kind]
    train = write(tmp_path, TEXTS)
    data = built(tmp_path / "data", train, source, shard_pairs=7)
    assert len(data.valid) == 4
    assert all(Path(pair.src).is_file() for pair in data.valid)
    store = data.stores[0]
    assert store.manifest.counts["read"] == len(TEXTS)
    part = DataConfig.model_validate({"train": str(train), "source": source}).source
    lines = [line.split("\t") for line in train.read_text(encoding="utf-8").split("\n")[:-1]]
    held = {pair.src for pair in data.valid}
    files = [name for name, _ in lines if str(tmp_path / name) not in held]
    assert len(store) == len(files), "what is held out is not trained on"
    for row, (src, tgt) in enumerate(store.read(np.arange(len(store)))):
        assert (src == read_frames(part, tmp_path / files[row])).all()
        assert data.text.tgt.decode(tgt.tolist()) == dict(lines)[files[row]]


def test_the_loader_resumes_and_divides_frames_among_ranks(tmp_path: Path):
    data = built(tmp_path / "data", write_pictures(tmp_path, TEXTS), KINDS["picture"][1])
    load = partial(Loader, data.stores, data.weights, batch_tokens=200, micro_batches=2, seed=3)
    stream = load().stream(0)
    batches = [next(stream) for _ in range(5)]
    assert batches[0].micro[0].src.shape[2:] == (16,)
    assert torch.equal(batches[3].micro[1].src, next(load().stream(3)).micro[1].src)
    assert torch.equal(batches[3].micro[1].src, next(load(rank=1, ranks=2).stream(3)).micro[0].src)


def test_frames_are_padded_with_zeros():
    rows = [(np.full((m, 2), 51, np.uint8), [5] * n) for m, n in ((3, 1), (1, 2))]
    batch = collate(rows)
    assert batch.src.dtype == torch.float32
    assert batch.src[0].tolist() == [[pytest.approx(0.2)] * 2] * 3
    assert batch.src[1].tolist() == [[pytest.approx(0.2)] * 2, [0, 0], [0, 0]]
    assert batch.src_keep.tolist() == [[True, True, True], [True, False, False]]
    halves = [(np.full((2, 1), 0.5, np.float16), [5])]
    assert collate(halves).src.tolist() == [[[0.5], [0.5]]]


def test_executors_and_a_second_build_give_the_same_bytes(tmp_path: Path):
    train = write_pictures(tmp_path, TEXTS)
    facts = {"train": str(train), "source": KINDS["picture"][1], "hold_out": 4, "shard_pairs": 9}
    data = DataConfig.model_validate(facts)

    def content(folder: Path) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted((folder / "corpus-0").rglob("data"))}

    one, two = tmp_path / "one", tmp_path / "two"
    build = partial(build_data, data, TextConfig(kind="char"), one, examples=examples_of(data))
    build()
    plan = plan_data(data, TextConfig(kind="char"), two, examples=examples_of(data))
    carry_out(plan, in_pool(2))
    assert content(one) == content(two)
    before = (one / "corpus-0" / MANIFEST).stat().st_mtime_ns
    build()
    assert (one / "corpus-0" / MANIFEST).stat().st_mtime_ns == before, "nothing changed, so it is reused"


def test_a_changed_picture_makes_a_new_store(tmp_path: Path):
    train, source = write_pictures(tmp_path, TEXTS), KINDS["picture"][1]
    before = built(tmp_path / "data", train, source).stores[0].read(np.arange(70))
    for file in (tmp_path / "train").iterdir():
        file.write_bytes((tmp_path / "train" / "0.png").read_bytes())
    after = built(tmp_path / "data", train, source).stores[0].read(np.arange(70))
    assert [len(src) for src, _ in before] != [len(src) for src, _ in after]


def test_a_run_does_not_resume_with_other_pictures_of_the_same_size(tmp_path: Path):
    train, source = write_pictures(tmp_path, TEXTS), KINDS["picture"][1]
    began = built(tmp_path / "data", train, source).identity
    for file in (tmp_path / "train").iterdir():
        file.touch()
    refuse_other_rows(began, built(tmp_path / "data", train, source).identity)
    for file in (tmp_path / "train").iterdir():
        with Image.open(file) as picture:
            ImageOps.invert(picture.convert("L")).save(file)
    with pytest.raises(DataError, match="are not those this run started with: their content differs"):
        refuse_other_rows(began, built(tmp_path / "data", train, source).identity)


def test_a_bad_file_is_an_error_that_names_it_or_is_skipped(tmp_path: Path):
    train, source = write_pictures(tmp_path, TEXTS), KINDS["picture"][1]
    valid = {"valid": str(write_pictures(tmp_path / "elsewhere", TEXTS[:4], name="valid"))}
    (tmp_path / "train" / "5.png").write_bytes(b"not a picture")
    (tmp_path / "train" / "7.png").unlink()
    with pytest.raises(DataError, match=r"5\.png \(.*train\.tsv:6\)"):
        built(tmp_path / "data", train, source, **valid)
    data = built(tmp_path / "data", train, source, skip_bad=True, **valid)
    assert data.valid[0].src == str(tmp_path / "elsewhere" / "valid" / "0.png")
    assert data.skipped.count == 2
    assert data.skipped.first == f"{train}:6"
    assert data.stores[0].manifest.counts["read"] == len(TEXTS) - 2


def test_long_and_only_long_sources(tmp_path: Path):
    train = write_pictures(tmp_path, TEXTS)
    data = built(tmp_path / "data", train, {"kind": "picture", "height": 16, "max_frames": 40})
    assert data.stores[0].lengths(np.arange(len(data.stores[0])))[0].max() <= 40
    with pytest.raises(DataError, match=r"more than 2 frames or 256 tokens(.|\n)*data.source.max_frames=4"):
        built(tmp_path / "data", train, {"kind": "picture", "height": 16, "max_frames": 2})


def test_the_manifest_of_text_is_as_before(tmp_path: Path):
    (tmp_path / "train.tsv").write_text("".join(f"{text}\t{text}\n" for text in TEXTS), encoding="utf-8")
    data = DataConfig.model_validate({"train": str(tmp_path / "train.tsv"), "hold_out": 4})
    build_data(data, TextConfig(kind="char"), tmp_path / "data")
    assert "frames" not in json.loads((tmp_path / "data" / "corpus-0" / MANIFEST).read_text())
    with pytest.raises(ValueError, match=r"data\.clean compares texts"):
        DataConfig.model_validate({"train": "a.tsv", "clean": True, "source": {"kind": "sound"}})


def test_the_data_is_the_same_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Held-out pairs are chosen by a hash: the place of a folder must not be in it."""
    source, first, second = KINDS["picture"][1], tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_pictures(folder, TEXTS)
    one = built(first / "data", first / "train.tsv", source)
    monkeypatch.chdir(second)
    two = built(Path("data"), Path("train.tsv"), source)
    assert [pair.src for pair in two.valid] == [str(Path(pair.src).relative_to(first)) for pair in one.valid]
    assert one.identity.rows == two.identity.rows
    assert one.identity.valid == two.identity.valid
    monkeypatch.chdir(tmp_path)
    assert built(Path("second/data"), Path("second/train.tsv"), source).valid[0].src.startswith("second")
