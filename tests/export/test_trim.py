"""A trimmed model reads and writes its texts as before, with fewer rows."""

from __future__ import annotations

import json
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.cli.main import main
from dragoman.config.load import validate
from dragoman.errors import DataError, ModelError, UsageError
from dragoman.export.trim import trim
from dragoman.inference.model import load
from dragoman.inference.verify import verify_model
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, load_bundle, save_bundle
from dragoman.protobuf import fields
from dragoman.text.build import learn
from dragoman.text.tokenizers.sentencepiece_proto import with_pieces
from dragoman.text.tokenizers.train_sentencepiece import train_sentencepiece
from support.tiny_bundle import TRANSFORMER, tiny_folder

SOURCES = [f"the {a} {b} walks and talks" for a in ("old", "young", "tall") for b in ("man", "woman", "dog")]
TARGETS = [f"{a} {b} geht und spricht" for a in ("der alte", "der junge") for b in ("Mann", "Hund", "Esel")]
FEW_SOURCES, FEW_TARGETS = SOURCES[:2], TARGETS[:2]


def folder(path: Path, kind: str = "bpe", *, lowercase: bool = False, **model: Any) -> Path:
    """Two letters more stand in the vocabulary than in the texts that it is trimmed by."""
    Path("few.tsv").write_text("".join(map("{}\t{}\n".format, FEW_SOURCES, FEW_TARGETS)), encoding="utf-8")
    text = {"kind": kind, "size": 400, "lowercase": lowercase}
    table = {"data": {"train": "few.tsv"}, "text": text}
    part = {"encoder": TRANSFORMER, "decoder": TRANSFORMER, **model}
    config = validate({**table, "model": part, "search": {"max_length": 12}})
    pair = learn(config.text, zip_longest(SOURCES, TARGETS, fillvalue=""))
    model_ = new_model(config, pair)
    with torch.no_grad():
        for p in model_.parameters():
            p.mul_(3.0)
    bundle = Bundle(config, pair, model_.eval())
    weights = {name: p.detach() for name, p in bundle.model.named_parameters()}
    save_bundle(path, config, pair, weights, "A model.\n")
    return path


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("separate", [False, True])
def test_texts_are_cut_as_before_and_any_other_text_can_still_be_written(kind: str, separate: bool) -> None:
    done = trim(folder(Path("model"), kind), Path("small"), separate=separate)
    before, after = load_bundle(Path("model")).text, load_bundle(Path("small")).text
    assert after.src.size < before.src.size
    assert after.tgt.size < before.tgt.size
    assert done.after == (after.src.size, after.tgt.size)
    assert after.joint is not separate
    for side, lines in (("src", FEW_SOURCES), ("tgt", FEW_TARGETS)):
        old, new = getattr(before, side), getattr(after, side)
        for line in lines:
            pieces = [[t.piece(id) for id in t.encode(line)] for t in (old, new)]
            assert pieces[0] == pieces[1]
        for strange in ("Ein Esel, 3 Äpfel ▁ und\t猫!", "young", "", "</s>"):
            assert new.decode(new.encode(strange)) == strange
            assert 1 not in new.encode(strange)


@pytest.mark.parametrize("tied", ["all", "target", pytest.param("none", marks=pytest.mark.slow)])
@pytest.mark.parametrize("separate", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_log_p_of_what_is_left_rises_by_one_number_for_all(tied: str, separate: bool) -> None:
    """Rows are cut out of the softmax, and nothing else changes."""
    trim(folder(Path("model"), tied=tied), Path("small"), separate=separate)
    before, after = load_bundle(Path("model")), load_bundle(Path("small"))
    log_p = []
    for bundle in (before, after):
        src = torch.tensor([[*bundle.text.src.encode(FEW_SOURCES[0]), 3]])
        state = bundle.model.start(src, torch.ones_like(src, dtype=torch.bool), 1)
        step = bundle.model.step(torch.tensor([2]), state)
        log_p.append({bundle.text.tgt.piece(id): p for id, p in enumerate(step.log_p[0].tolist())})
    kept = [piece for piece in log_p[1] if piece in log_p[0]]
    assert len(kept) == len(log_p[1])
    rise = np.array([log_p[1][piece] - log_p[0][piece] for piece in kept])
    mass = sum(np.exp(p) for piece, p in log_p[0].items() if piece in log_p[1])
    assert rise == pytest.approx(-np.log(mass), abs=1e-5)


def test_outputs_stay_the_same_where_no_removed_piece_was_wanted() -> None:
    path = folder(Path("model"))
    bundle = load_bundle(path)
    used = {id for line in FEW_TARGETS for id in bundle.text.tgt.encode(line)}
    with torch.no_grad():  # this model never wants what the texts do not have
        bundle.model.head.b.fill_(-50.0)
        bundle.model.head.b[[3, *used]] = 0.0
    weights = {name: p.detach() for name, p in bundle.model.named_parameters()}
    save_bundle(path, bundle.config, bundle.text, weights, "")
    done = trim(path, Path("small"), separate=True)
    assert done.same == done.compared == 2
    texts = [FEW_SOURCES[0], "the man", "a woman"]
    assert [r.text for r in load("model")(texts)] == [r.text for r in load("small")(texts)]


def test_a_lower_cased_model_stays_one() -> None:
    trim(folder(Path("model"), lowercase=True), Path("small"))
    after = load_bundle(Path("small")).text
    assert after.src.decode(after.src.encode("The OLD man")) == "the old man"


def test_trimmed_folder_is_whole_and_says_what_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    folder(Path("model"))
    assert main(["trim", "model", "-o", "small", "--separate"]) == 0
    captured = capsys.readouterr()
    assert "entries" in captured.out
    assert captured.err.strip() == "Next: dragoman export small --to ct2 --quantization int8"
    assert "weights" in verify_model("small")
    card = Path("small/card.md").read_text(encoding="utf-8")
    assert card.startswith("A model.\n")
    assert "Sub-words unused in its training texts were removed" in card
    assert main(["trim", "model", "few.tsv", "-o", "other", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["before"] == [load_bundle(Path("model")).text.src.size] * 2


def test_what_cannot_be_trimmed_is_named() -> None:
    tiny_folder(Path("words"))
    with pytest.raises(ModelError, match="word units"):
        trim("words", Path("small"))
    folder(Path("model"))
    with pytest.raises(UsageError, match="not empty"):
        trim("model", Path("words"))
    Path("few.tsv").unlink()
    with pytest.raises(DataError, match="training data of this model is missing") as refused:
        trim("model", Path("small"))
    assert refused.value.where.endswith("few.tsv")


def test_a_piece_file_is_taken_apart_and_put_together() -> None:
    raw = train_sentencepiece(SOURCES, "bpe", 300)
    numbers = [field.number for field in fields(raw)]
    assert b"".join(field.raw for field in fields(raw)) == raw
    assert with_pieces(raw, range(numbers.count(1))) == raw
    for broken in (raw[:-1], b"\xff" * 20, b"\x0f"):
        with pytest.raises(ValueError, match=r"truncated|without an end|wire type"):
            list(fields(broken))
