"""A folder keeps the tokenizers: the same ids after loading, and a clear error for anything else."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentencepiece import SentencePieceTrainer

from dragoman.config.text import TextConfig
from dragoman.errors import ModelError
from dragoman.text import build
from dragoman.text.tokenizer_pair import TokenizerPair
from support.made_up_corpus import KINDS, corpus


def learned(**settings: Any) -> TokenizerPair:
    config = TextConfig.model_validate({"size": 320, "sampling": 0.3, **settings})
    return build.learn(config, zip(corpus("src", 60), corpus("tgt", 60), strict=True))


def assert_same(one: TokenizerPair, other: TokenizerPair) -> None:
    assert (one.joint, one.lowercase, one.sampling) == (other.joint, other.lowercase, other.sampling)
    for a, b in [(one.src, other.src), (one.tgt, other.tgt)]:
        assert (a.kind, a.size) == (b.kind, b.size)
        for line in [*corpus("src", 30), *corpus("tgt", 30), "NEVER seen ▁ 日本"]:
            ids = a.encode(line)
            assert b.encode(line) == ids
            assert b.decode(ids) == a.decode(ids)
            row, keys = np.array(ids, np.int32), np.array([5], np.uint64)
            assert a.resegment([row], keys)[0].tolist() == b.resegment([row], keys)[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("joint", [True, False])
def test_a_saved_pair_loads_the_same(kind: str, joint: bool, tmp_path: Path) -> None:
    pair = learned(kind=kind, joint=joint, lowercase=joint)
    build.save(pair, tmp_path / "text")
    again = build.load(tmp_path / "text")
    assert_same(pair, again)
    assert (again.src is again.tgt) == joint


def test_a_pair_of_two_kinds_loads_the_same(tmp_path: Path) -> None:
    pair = learned(src={"kind": "unigram", "size": 300}, tgt={"kind": "char", "size": 50})
    build.save(pair, tmp_path)
    assert_same(pair, build.load(tmp_path))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["src.model", "text.json", "tgt.json"]


def test_a_second_save_writes_the_same_bytes(tmp_path: Path) -> None:
    build.save(learned(kind="bpe"), tmp_path / "a")
    build.save(build.load(tmp_path / "a"), tmp_path / "b")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pristine")
    for kind in ("bpe", "word"):
        build.save(learned(kind=kind), folder / kind)
    return folder


@pytest.fixture
def folders(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "copy"))


def refused(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        build.load(folder)
    assert str(folder) in caught.value.where
    assert caught.value.expected
    assert caught.value.hint
    return caught.value


def test_a_folder_without_text_json_is_refused(tmp_path: Path) -> None:
    assert "no text.json" in refused(tmp_path).what


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "3",
        '{"version": "1"}',
        '{"version": 0}',
        "[" * 100_000,
        "\0",
        '{"a": NaN}',
    ],
)
def test_a_damaged_text_json_is_refused(folders: Path, text: str) -> None:
    (folders / "bpe" / "text.json").write_text(text)
    refused(folders / "bpe")


def test_text_json_that_is_not_utf8_is_refused(folders: Path) -> None:
    (folders / "bpe" / "text.json").write_bytes(b"\xff\xfe{}")
    refused(folders / "bpe")


@pytest.mark.parametrize(
    ("key", "value"),
    [("src", "wordpiece"), ("joint", "yes"), ("sampling", 7), ("sampling", float("nan")), ("colour", "red")],
)
def test_a_strange_fact_is_named(folders: Path, key: str, value: Any) -> None:
    file = folders / "bpe" / "text.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    assert key in refused(folders / "bpe").what


def test_a_newer_version_is_refused_with_the_upgrade_to_type(folders: Path) -> None:
    file = folders / "bpe" / "text.json"
    file.write_text(json.dumps({"version": 2, "something": "new"}))
    error = refused(folders / "bpe")
    assert "version 2" in error.what
    assert error.hint == "pip install --upgrade dragoman"


@pytest.mark.parametrize(("kind", "name"), [("bpe", "joint.model"), ("word", "joint.json")])
def test_missing_and_damaged_files_are_refused(folders: Path, kind: str, name: str) -> None:
    file = folders / kind / name
    whole = file.read_bytes()
    for damaged in [
        b"",
        b"garbage",
        whole[: len(whole) // 2],
        b"\xff" * 50,
        b'["a", 1]',
        b'["<pad>"]',
        b"[" * 99_999,
    ]:
        file.write_bytes(damaged)
        refused(folders / kind)
    file.unlink()
    refused(folders / kind)


@pytest.mark.parametrize("tail", [["a", "a"], ["\ud800"]])
def test_a_vocabulary_that_cannot_be_right_is_refused(folders: Path, tail: list[str]) -> None:
    file = folders / "word" / "joint.json"
    file.write_text(json.dumps([*json.loads(file.read_text())[:4], *tail]))
    refused(folders / "word")


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3},
        {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "byte_fallback": True},
    ],
)
def test_a_foreign_sentencepiece_model_is_refused(folders: Path, other: dict[str, Any]) -> None:
    model = io.BytesIO()
    lines = corpus("src")
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=320, minloglevel=2,
        hard_vocab_limit=False, **other
    )  # fmt: skip
    (folders / "bpe" / "joint.model").write_bytes(model.getvalue())
    assert "not trained by Dragoman" in refused(folders / "bpe").what
