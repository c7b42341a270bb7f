"""A SentencePiece model that someone has already can be trained with, and cuts as it always did."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from dragoman.config.load import load as load_config
from dragoman.config.load import validate
from dragoman.config.paths import from_folder
from dragoman.config.text import TextConfig
from dragoman.errors import ConfigError, ModelError
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.build import learn, load, save
from dragoman.text.specials import UNK
from dragoman.text.tokenizers.external_sentencepiece import ExternalSentencePiece
from support.made_up_corpus import corpus

LINES = ["mi stalo ren", "Ｆull width", "unknown 猫 and ▁", " two  spaces", ""]


def trained(*, byte_fallback: bool) -> bytes:
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter([*corpus("src"), "full width unknown"]),
        model_writer=model,
        vocab_size=400,
        hard_vocab_limit=False,
        byte_fallback=byte_fallback,
        minloglevel=2,
    )
    return model.getvalue()


@pytest.fixture(scope="module", params=[True, False], ids=["bytes", "no bytes"])
def model(request: pytest.FixtureRequest) -> bytes:
    return trained(byte_fallback=request.param)


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_cut_as_its_maker_chose(model: bytes, line: str) -> None:
    theirs = SentencePieceProcessor(model_proto=model)
    ours = ExternalSentencePiece(model)
    pieces = [ours.piece(id) for id in ours.encode(line)]
    known = set(ours.vocabulary.entries)
    assert pieces == [p if p in known else "<unk>" for p in theirs.encode(line, out_type=str)]
    assert ours.encode_batch([line])[0].tolist() == ours.encode(line)
    if UNK not in ours.encode(line):
        assert ours.decode(ours.encode(line)) == theirs.decode(theirs.encode(line))


def test_surface_spells_what_decode_writes(model: bytes) -> None:
    tokenizer = ExternalSentencePiece(model)
    surface = TokenBytes(tokenizer)
    for line in LINES:
        ids = tokenizer.encode(line)
        assert surface.read(surface.spell(ids)) == tokenizer.decode(ids)


@pytest.mark.parametrize("lowercase", [True, False])
def test_it_is_given_in_the_settings_and_kept_in_the_folder(tmp_path: Path, lowercase: bool) -> None:
    (tmp_path / "my.spm").write_bytes(trained(byte_fallback=False))
    config = TextConfig(kind="sentencepiece", file=str(tmp_path / "my.spm"), lowercase=lowercase)
    pair = learn(config, zip(["a line"], ["a line"], strict=True))
    save(pair, tmp_path / "text")
    again = load(tmp_path / "text")
    assert again.joint
    assert again.src.kind == "sentencepiece"
    assert again.src.encode("mi stalo REN") == pair.src.encode("mi stalo REN")


def test_its_path_is_meant_from_where_the_settings_stand(tmp_path: Path) -> None:
    side = '{ kind = "sentencepiece", file = "src.spm" }'
    (tmp_path / "dragoman.toml").write_text(
        f'[data]\ntrain = "a.tsv"\n[text]\nsrc = {side}\n', encoding="utf-8"
    )
    config = load_config(tmp_path / "dragoman.toml", base={"model": {"tied": "none"}})
    assert config.text.src_units.file == str(tmp_path / "src.spm")
    moved = from_folder(config, tmp_path / "model").text.src
    assert moved
    assert moved.file == "../src.spm"


@pytest.mark.parametrize("text", [{"kind": "sentencepiece"}, {"kind": "bpe", "file": "my.spm"}])
def test_kind_and_file_go_together(text: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="need each other"):
        validate({"data": {"train": "a.tsv"}, "text": text})


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "my.spm").write_bytes(b"\x80\x04 no model")
    for name in ("my.spm", "gone.spm"):
        config = TextConfig(kind="sentencepiece", file=str(tmp_path / name))
        with pytest.raises(ModelError, match="cannot be read") as refused:
            learn(config, zip(["a"], ["a"], strict=True))
        assert refused.value.where.endswith(name)
