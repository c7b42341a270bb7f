"""`dragoman export` and `dragoman check MODEL`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.export import ct2 as exporting
from dragoman.export.probe_sentences import SENTENCES, Sentences, every_token, sentences
from hostile.folders import good_folder
from support.tiny_bundle import RNN, tiny, tiny_folder

CODES = ("--to", "argos", "--languages", "en", "de")


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "sentences", lambda bundle: Sentences([[5, 6], [7]], "made up"))


def test_export_and_check_speak_of_what_they_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tiny_folder(tmp_path / "model"))
    assert main(["export", model, "--to", "ct2", "--quantization", "int8"]) == 0
    out = capsys.readouterr().out
    assert "greedy  2 of 2 outputs are the same" in out
    assert "of 2 greedy outputs stay the same" in out
    assert main(["check", model]) == 0
    captured = capsys.readouterr()
    assert [line.split()[0] for line in captured.out.split("\n")[:-1]] == [
        "manifest", "settings", "text", "weights", "ct2",
    ]  # fmt: skip
    assert f"dragoman run {model} TEXT" in captured.err
    (tmp_path / "model" / "ct2" / "config.json").write_text("{}")
    assert main(["check", model]) == 1
    assert "config.json has 2 bytes" in capsys.readouterr().err


@pytest.mark.slow
def test_both_directions_are_two_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, back = (str(good_folder(tmp_path / name, "bpe")) for name in ("there", "back"))
    assert main(["export", there, *CODES, "--back", back, "-o", str(tmp_path), "--json"]) == 0
    found = [json.loads(line)["path"] for line in capsys.readouterr().out.split("\n")[:-1]]
    assert [Path(path).name for path in found] == [
        "translate-en_de-1_0.argosmodel",
        "translate-de_en-1_0.argosmodel",
    ]
    assert all(Path(path).is_file() for path in found)


@pytest.mark.parametrize("codes", [[], ["--languages", "../en", "de"]])
def test_languages_that_are_none_are_refused(
    codes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tiny_folder(tmp_path / "model"))
    assert main(["export", model, "--to", "argos", *codes]) == 2
    assert "--languages en de" in capsys.readouterr().err


def test_a_recurrent_model_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tiny_folder(tmp_path / "model", part=RNN)), "--to", "ct2"]) == 1
    err = capsys.readouterr().err
    assert "CTranslate2 cannot run this model" in err
    assert "encoder" in err


def test_sentences_come_from_the_data_or_are_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bundle = tiny()
    assert len(sentences(bundle).rows) == SENTENCES
    assert sentences(bundle).origin.startswith("of random tokens")
    Path("train.tsv").write_text("a b\tc\n\td\ne f g\th\n")
    assert sentences(bundle) == Sentences(
        [bundle.text.src.encode("a b"), bundle.text.src.encode("e f g")], "of train.tsv"
    )
    Path("train.tsv").write_bytes(b"\xff\xfe")
    assert sentences(bundle).origin.startswith("of random tokens")


def test_every_token_is_tried_on_both_sides() -> None:
    bundle = tiny()
    pairs = every_token(bundle)
    for side, tokenizer in enumerate((bundle.text.src, bundle.text.tgt)):
        assert {id for pair in pairs for id in pair[side]} == {1, *range(4, tokenizer.size)}
