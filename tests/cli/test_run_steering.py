"""`dragoman run` with a prefix, a glossary, forbidden words and things to keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from support.tiny_bundle import tiny_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_folder(tmp_path_factory.mktemp("run") / "model"))


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[str], str]:
    assert main(["run", *arguments]) == 0
    out, err = capsys.readouterr()
    return out.split("\n")[:-1], err


def test_every_line_begins_with_the_prefix(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = lines(capsys, model, "a b", "c", "", "--prefix", "d e ")
    assert [line[:4] for line in out] == ["d e ", "d e ", ""]
    assert "Asked" not in err


def test_no_line_has_a_forbidden_word(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain, _ = lines(capsys, model, "a b c", "d e")
    words = sorted({word for line in plain for word in line.split()})[:3]
    out, _ = lines(capsys, model, "a b c", "d e", *(f"--forbid={word}" for word in words))
    assert not {word for line in out for word in line.split()} & set(words)


def test_terms_and_placeholders_are_counted(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("b\tn|o\nc d\tp m\n")
    out, err = lines(capsys, model, "a b %s", "c d", "e", "--glossary", str(glossary), "--keep")
    assert "%s" in out[0].split()
    assert {"n", "o"} & set(out[0].split())
    assert "p m" in out[1]
    assert "Terms and placeholders met: 3 of 3." in err


def test_what_is_not_met_is_named(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("b\tn o p\n")
    arguments = (model, "e", "a b", "--glossary", str(glossary), "search.max_length=2")
    _, err = lines(capsys, *arguments)
    assert "met: 0 of 1.\n  line 2: b → n o p: the output was cut at its maximum length" in err
    out, _ = lines(capsys, *arguments, "--json")
    first, second = map(json.loads, out)
    assert "terms" not in first
    assert second["terms"][0] | {"why": ""} == {
        "kind": "term",
        "source": "b",
        "target": ["n o p"],
        "met": False,
        "why": "",
    }


def test_numbers_are_kept_if_asked_for(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    (out,), _ = lines(capsys, model, "a 17 b %s", "--keep-numbers")
    assert [out.split().count(word) for word in ("17", "%s")] == [1, 1]


def test_a_bad_glossary_is_named(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("b n\n")
    assert main(["run", model, "a", "--glossary", str(glossary)]) == 3
    assert "terms.tsv:1" in capsys.readouterr().err


def test_a_pattern_of_ones_own_is_kept(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = lines(capsys, model, "a ACME-12 b", "c %s", "--keep-pattern", r"ACME-\d+")
    assert out[0].count("ACME-12") == 1
    assert out[1].count("%s") == 1
    assert "Terms and placeholders met: 2 of 2." in err


def test_a_pattern_that_is_none_is_named(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", model, "a", "--keep-pattern", "(b"]) == 2
    err = capsys.readouterr().err
    assert "not a regular expression: missing ), unterminated subpattern at character 0" in err
    assert "--keep-pattern '(b'" in err
