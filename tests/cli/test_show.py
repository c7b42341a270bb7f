"""`dragoman show`: a table, a picture, a page, or the data."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.inspection.pictures.theme import DARK
from support.tiny_bundle import RNN, saved, tiny_folder, tiny_lm


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("show")
    tiny_folder(folder / "model", part=RNN)
    return str(folder)


def test_without_a_file_it_prints_a_table(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", model, "a b c", "search.max_length=4"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("a b c\n→ ")
    assert re.search(r"^output +p +(reads +)?instead of$", out, re.MULTILINE)
    assert re.search(r" █*░*  ?\d+ %", out)
    assert "Pictures: attention, ribbons, heads, beam, steps" in err
    assert err.endswith(f"Next: dragoman show {model} TEXT -o picture.html\n")


def test_pictures_and_data_are_files(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg, data = tmp_path / "beam.svg", tmp_path / "all.json"
    assert main(["show", model, "a b c", "--beam", "2", "--picture", "beam", "--dark", "-o", str(svg)]) == 0
    assert DARK.soft in svg.read_text(encoding="utf-8")
    assert main(["show", model, "a b c", "--beam", "2", "-o", str(data)]) == 0
    told = json.loads(data.read_text(encoding="utf-8"))
    assert told["saliency"]
    assert max(len(told["beam"]["best"]), 1) <= 2
    capsys.readouterr()
    assert main(["show", model, "a b c", "--beam", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)  # of a model that was loaded again: equal but for rounding
    assert [printed[name] for name in ("output", "source", "tokens")] == [
        told[name] for name in ("output", "source", "tokens")
    ]
    assert [s["p"] for s in printed["steps"]] == pytest.approx([s["p"] for s in told["steps"]], rel=1e-4)


def test_an_unknown_picture_lists_the_known_ones(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", model, "a", "--picture", "beem", "-o", str(tmp_path / "x.svg")]) == 2
    assert "expected  one of attention, ribbons" in capsys.readouterr().err
    assert main(["show", model, "a", "--picture", "beem"]) == 2  # also without a file
    assert "expected  one of attention, ribbons" in capsys.readouterr().err
    assert main(["show", model, "a", "-o", str(tmp_path / "x.gif")]) == 2
    assert ".svg, .png, .html or .json" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_it_shows_one_text(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", model, "a", "b"]) == 2
    assert "One text is shown at a time" in capsys.readouterr().err
    assert main(["show", model]) == 2
    assert "There is nothing to report on" in capsys.readouterr().err


def test_a_chart_without_vl_convert_says_what_to_install(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["show", model, "a", "-o", str(tmp_path / "x.svg")]) == 2
    assert 'pip install "dragoman[show]"' in capsys.readouterr().err
    assert main(["show", model, "a", "--picture", "beam", "-o", str(tmp_path / "x.svg")]) == 0, "drawn by us"


def test_a_language_model_is_shown_as_it_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path / "model", tiny_lm())
    assert main(["show", str(tmp_path), "a b c", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tokens"] == ["a", "b", "c"]
    assert told["cells"][0]["tokens"] == ["a", "b", "c"]
    assert main(["run", str(tmp_path), "a b c", "--json", "--details"]) == 0
    read = json.loads(capsys.readouterr().out)
    p = [math.exp(token["log_p"]) for token in read["tokens"][:3]]
    assert [step["p"] for step in told["steps"]] == pytest.approx(p, rel=1e-4)
