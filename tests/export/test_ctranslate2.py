"""An export says what the model says, choice by choice; or it is refused."""

from __future__ import annotations

import json
import random
import struct
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dragoman
from dragoman.cli.main import main
from dragoman.cli.verbs.export import agreement, proof_lines
from dragoman.durable import verify_folder
from dragoman.errors import ModelError, UsageError
from dragoman.export import ct2 as exporting
from dragoman.export.ct2 import WEIGHTS, export_ct2
from dragoman.export.ct2_spec import Quantization, write
from dragoman.export.probe_sentences import RANDOM as RANDOM_TOKENS
from dragoman.export.probe_sentences import Sentences
from dragoman.export.verify import Agreement, Difference, Proof, needs_bars, prove
from dragoman.inference.runtimes import ct2_file
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.models.bundle import Bundle
from dragoman.models.heads.token import TokenHead
from dragoman.text.specials import EOS
from support.tiny_bundle import RNN, TRANSFORMER, WORDS, tiny, tiny_folder

CHOICES: dict[str, dict[str, Any]] = {
    "plain": {},
    "post-norm": {"norm": "post"},
    "rms": {"norm_kind": "rms"},
    "gelu": {"activation": "gelu"},
    "swish": {"activation": "swish"},
    "other epsilon": {"norm_eps": 1e-3},
    "no end": {"reads_end": False},
    "swiglu": {"activation": "swiglu"},
    "learned": {"positions": "learned"},
    "few places": {"positions": "learned", "max_positions": 40},
    "rotary": {"positions": "rotary"},
    "relative": {"positions": "relative"},
    "one key": {"kv_heads": 1},
    "all": {"positions": "rotary", "kv_heads": 1, "norm_kind": "rms", "activation": "swiglu"},
}
MODELS: dict[str, dict[str, Any]] = {
    "tied three ways": {"tied": "all"},
    "tied two ways": {"tied": "target"},
    "not tied": {"tied": "none"},
    "other sides": {
        "tied": "none",
        "encoder": {**TRANSFORMER, "width": 48, "layers": 2, "positions": "relative"},
        "decoder": {**TRANSFORMER, "heads": 4, "norm": "post"},
    },
    "characters": {"tied": "target", "src_embedding": {"kind": "characters"}},
    "sampled": {"head": {"kind": "sampled"}},
}


RANDOM = random.Random(3)
SAMPLES = Sentences([RANDOM.choices(range(4, 20), k=RANDOM.randint(1, 9)) for _ in range(8)], "made up")


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "sentences", lambda bundle: SAMPLES)


def lively(bundle: Bundle) -> Bundle:
    """Random weights, no two alike, that come to an end now and then."""
    assert isinstance(bundle.model.head, TokenHead)
    noise = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for p in bundle.model.parameters():
            p.mul_(0.5).add_(torch.randn(p.shape, generator=noise), alpha=0.1)
        bundle.model.head.b[EOS] += 7.0
    return bundle


def proof_of(bundle: Bundle, folder: Path) -> Proof:
    bars = needs_bars(bundle, SAMPLES)
    write(bundle, folder, "float32", bars_specials=bars)
    return prove(
        bundle, CTranslate2Engine(folder, bundle.text), folder / WEIGHTS, SAMPLES, bars_specials=bars
    )


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES.keys())
def test_each_choice_of_a_layer_is_the_same_after_export(choice: dict[str, Any], tmp_path: Path) -> None:
    proof = proof_of(lively(tiny({**TRANSFORMER, **choice})), tmp_path)
    assert proof.greedy.same == proof.greedy.sentences == 8
    assert proof.beam.same == proof.beam.sentences > 0
    assert proof.worst_token < 1e-5


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_each_choice_of_a_model_is_the_same_after_export(model: dict[str, Any], tmp_path: Path) -> None:
    proof = proof_of(lively(tiny(model=model)), tmp_path)
    assert proof.greedy.same == 8
    assert proof.beam.same == proof.beam.sentences > 0


def variables(file: Path) -> dict[str, tuple[int, int, tuple[int, ...]]]:
    """Where the values of each variable begin in a model.bin, their number of bytes, their shape."""
    raw, found, place = file.read_bytes(), {}, 4

    def text() -> str:
        nonlocal place
        (length,) = struct.unpack_from("<H", raw, place)
        place += 2 + length
        return raw[place - length : place - 1].decode()

    text()
    (count,) = struct.unpack_from("<I", raw, place + 4)
    place += 8
    for _ in range(count):
        name, rank = text(), raw[place]
        shape = struct.unpack_from(f"<{rank}I", raw, place + 1)
        (size,) = struct.unpack_from("<I", raw, place + 2 + 4 * rank)
        place += 6 + 4 * rank
        found[name] = (place, size, shape)
        place += size
    return found


def spoil(file: Path, name: str, row: int) -> None:
    """One value of one row is another."""
    place, _, shape = variables(file)[name]
    raw = bytearray(file.read_bytes())
    struct.pack_into("<f", raw, place + 4 * row * int(np.prod(shape[1:])), 3.0)
    file.write_bytes(raw)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("encoder/layer_0/self_attention/linear_0/weight", 5),
        ("decoder/layer_0/ffn/linear_1/weight", 3),
        ("decoder/embeddings/weight", 17),
        ("decoder/position_encodings/encodings", 2),
    ],
)
def test_one_spoilt_weight_is_found(name: str, row: int, tmp_path: Path) -> None:
    bundle = lively(tiny(model={"tied": "none"}))
    write(bundle, tmp_path, "float32", bars_specials=True)
    spoil(tmp_path / "model.bin", name, row)
    engine = CTranslate2Engine(tmp_path, bundle.text)
    with pytest.raises(ModelError, match="does not match the model") as caught:
        prove(bundle, engine, tmp_path / WEIGHTS, SAMPLES, bars_specials=True)
    assert caught.value.where == str(tmp_path / "model.bin")


def test_a_mismatch_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_badly(bundle: Bundle, folder: Path, quantization: Quantization, *, bars_specials: bool) -> None:
        write(bundle, folder, quantization, bars_specials=bars_specials)
        spoil(folder / "model.bin", "decoder/layer_0/ffn/linear_1/weight", 3)

    tiny_folder(tmp_path / "model")
    monkeypatch.setattr(exporting, "write", write_badly)
    with pytest.raises(ModelError, match="does not match the model"):
        export_ct2(tmp_path / "model", tmp_path / "out", "float32")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_what_would_not_be_run_is_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_folder(tmp_path / "model")
    monkeypatch.setattr(ct2_file, "REVISION", ct2_file.REVISION + 1)  # as if CTranslate2 wrote another one
    with pytest.raises(ModelError, match="not a TransformerSpec of revision"):
        export_ct2(tmp_path / "model", tmp_path / "out", "float32")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.parametrize(("text", "is_like"), [("a dog runs in the park", True), ("x y", False)])
def test_a_quantization_that_writes_something_else_is_refused(
    text: str, is_like: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_folder(tmp_path / "model")
    changed = [Difference("", "a dog ran in the park", -1.0, text, -1.0)] * 5
    monkeypatch.setattr(exporting, "compare", lambda *_: Agreement(10, 5, differences=changed))
    with nullcontext() if is_like else pytest.raises(ModelError, match="only 5 of 10 outputs are unchanged"):
        export_ct2(tmp_path / "model", tmp_path / "out", "int8")


def test_random_tokens_refuse_no_quantization(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_folder(tmp_path / "model")
    monkeypatch.setattr(exporting, "sentences", lambda bundle: Sentences(SAMPLES.rows, RANDOM_TOKENS))
    changed = [Difference("", "a dog ran in the park", -1.0, "x y", -1.0)] * 5
    monkeypatch.setattr(exporting, "compare", lambda *_: Agreement(10, 5, differences=changed))
    out = str(tmp_path / "int8")
    assert main(["export", str(model), "--to", "ct2", "--quantization", "int8", "-o", out]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not found, so the cost of rounding was measured on random tokens only and is not known" in said
    assert f"dragoman score {model} test.src test.tgt --runtime torch" in said
    assert f"dragoman score {out} test.src test.tgt" in said
    assert main(["export", str(model), "--to", "ct2"]) == 0
    assert "cost of rounding" not in capsys.readouterr().out


def test_outputs_for_random_tokens_are_not_shown() -> None:
    differ = Agreement(9, 2, differences=[Difference("a", "b", -1.0, "garbage", -1.1)] * 7)
    for origin, is_shown in ((RANDOM_TOKENS, False), ("of val.en", True)):
        said = "".join(proof_lines(Proof(origin, False, Agreement(9, 9), Agreement(9, 9), differ, 1, 0.0)))
        assert ("garbage" in said, "many differ" in said) == (is_shown, is_shown)


def test_the_command_says_how_much_worse_the_other_outputs_are() -> None:
    differences = [Difference("a", "b", -1.0, "c", -1.1), Difference("a", "b", -1.0, "c", -1.3)]
    assert agreement(Agreement(9, 7, 1e-6, differences)) == (
        "7 of 9 outputs are the same, with scores within 1e-06; the others score 0.2 lower on average"
    )
    assert agreement(Agreement(9, 9, 1e-6)) == "9 of 9 outputs are the same, with scores within 1e-06"


def test_tied_weights_are_stored_once_and_positions_are_enough(tmp_path: Path) -> None:
    write(tiny(model={"tied": "all"}), tmp_path, "float32", bars_specials=False)
    found = variables(tmp_path / "model.bin")
    assert [name for name in found if found[name][2] == (21, 32)] == ["decoder/embeddings/weight"]
    encodings = [found[name][2] for name in found if name.endswith("encodings")]
    assert encodings == [(1024, 32)]  # the same on both sides, so an alias too


def test_an_export_is_whole_and_goes_into_the_model_folder(tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "run" / "model")
    exported = export_ct2(tmp_path / "run", None, "int8")
    assert exported.path == model / "ct2"
    assert verify_folder(exported.path) is None
    assert verify_folder(model) is None  # what was there is untouched
    names = {path.name for path in exported.path.iterdir()}
    assert names == {
        "MANIFEST.json", "card.md", "config.json", "model.bin", "proof.json", "settings.toml",
        "shared_vocabulary.json", "text",
    }  # fmt: skip
    assert json.loads((exported.path / "proof.json").read_text())["quantization"] == "int8"
    float32 = export_ct2(tmp_path / "run", None, "float32")  # takes its place
    assert float32.rounded is None


@pytest.fixture(scope="module")
def capitals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned something. Random weights decide by so little that rounding changes it all."""
    folder = tmp_path_factory.mktemp("capitals")
    lines = [" ".join(RANDOM.choices(WORDS, k=RANDOM.randint(1, 6))) for _ in range(600)]
    (folder / "train.tsv").write_text("".join(f"{line}\t{line.upper()}\n" for line in lines))
    settings = {
        "text.kind": "word",
        "model.encoder": TRANSFORMER,
        "model.decoder": TRANSFORMER,
        "training": {
            "updates": 120,
            "batch_tokens": 512,
            "lr": 0.01,
            "warmup": 20,
            "validate_every": 120,
            "checkpoint_every": 120,
            "report": False,
        },
        "search.max_length": 12,
    }
    dragoman.train(folder / "train.tsv", out=folder / "run", settings=settings, progress=False)
    return folder / "run"


@pytest.mark.parametrize("quantization", ["float16", "bfloat16", "int8"])
def test_rounded_weights_answer_nearly_the_same(
    quantization: Quantization, capitals: Path, tmp_path: Path
) -> None:
    exported = export_ct2(capitals, tmp_path / "out", quantization)
    assert exported.rounded is not None
    assert exported.rounded.same >= 4


def test_what_ctranslate2_cannot_run_is_refused_with_its_reason(tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "model", part=RNN)
    with pytest.raises(ModelError, match=r"gru|lstm") as caught:
        export_ct2(model, None, "float32")
    assert "use ONNX" in caught.value.what
    windowed = tiny_folder(tmp_path / "windowed", part={**TRANSFORMER, "window": 3})
    with pytest.raises(ModelError, match="window of 3 in the encoder"):
        export_ct2(windowed, None, "float32")
    assert not (model / "ct2").exists()


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "model")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not an export"):
        export_ct2(model, tmp_path / "mine", "float32")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
