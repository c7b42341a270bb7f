"""`dragoman run MODEL app.po -o app.de.po`: documents, as a localiser would give them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.main import main
from support.tiny_bundle import tiny_folder

PO = '#: a.c:1\nmsgid "a b %d"\nmsgstr ""\n\nmsgid "c"\nmsgstr "C"\n'
SRT = "1\n00:00:01,000 --> 00:00:02,000\na b\nc\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("document")
    tiny_folder(folder / "model")
    return str(folder)


def test_a_po_goes_to_a_po(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "app.po", tmp_path / "app.de.po"
    source.write_text(PO, encoding="utf-8")
    assert main(["run", model, str(source), "-o", str(target)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{source} is a document: its missing translations are added." in err
    assert f"Translated 1 of 2 units in {source}." in err
    written = target.read_text(encoding="utf-8")
    assert "#, fuzzy\n#: a.c:1\n" in written
    assert written.count("%d") == 2  # the placeholder is kept
    assert 'msgid "c"\nmsgstr "C"\n' in written


def test_a_document_is_written_though_nobody_reads_the_messages(model: str, tmp_path: Path) -> None:
    source, target = tmp_path / "app.po", tmp_path / "app.de.po"
    source.write_text(PO, encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dragoman", "run", model, str(source), "-o", str(target)]
    assert subprocess.run(command, stderr=writing, check=False).returncode == 0
    os.close(writing)
    assert "#, fuzzy" in target.read_text(encoding="utf-8")


def test_what_is_not_translated_is_said(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "app.po", tmp_path / "app.de.po"
    broken = '#, c-format\nmsgid "a %d"\nmsgstr ""\n\n'
    source.write_text(f'{broken}msgid " "\nmsgstr ""\n\nmsgid "c"\nmsgstr "C"\n', encoding="utf-8")
    assert main(["run", model, str(source), "-o", str(target), "--prefix", "100% "]) == 0
    err = capsys.readouterr().err
    assert "Translated 0 of 2 units" in err
    assert "Not counted: 1 unit without text to translate." in err
    assert "The output would break the format string of 1 of them (line 2): they are unchanged." in err
    assert target.read_text(encoding="utf-8").startswith(broken)


def test_a_document_goes_to_stdout(model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "film.srt"
    source.write_text(SRT, encoding="utf-8")
    assert main(["run", model, "--file", str(source)]) == 0
    out, _ = capfd.readouterr()
    assert out.startswith("1\n00:00:01,000 --> 00:00:02,000\n")


def test_a_document_cannot_control_a_terminal(
    model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "app.po"
    source.write_text(f"# \x1b[31mred\n{PO}", encoding="utf-8")
    assert main(["run", model, str(source)]) == 0
    assert "\x1b[31m" in capfd.readouterr().out, "a pipe gets every byte"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["run", model, str(source)]) == 0
    assert "\N{REPLACEMENT CHARACTER}[31mred" in capfd.readouterr().out


@pytest.mark.parametrize("options", [["--details"], ["--nbest", "2"], ["more text"]])
def test_what_a_document_cannot_give_is_refused(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    source = tmp_path / "app.po"
    source.write_text(PO, encoding="utf-8")
    assert main(["run", model, str(source), *options]) == 2
    assert "is a document: it cannot be combined with" in capsys.readouterr().err


def test_each_text_of_a_document_is_an_object_with_its_line(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "app.po", tmp_path / "app.de.po"
    source.write_text(PO, encoding="utf-8")
    assert main(["run", model, str(source), "--json"]) == 2
    assert "--json -o OUT.po" in capsys.readouterr().err
    assert main(["run", model, str(source), "-o", str(target), "--json"]) == 0
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]
    assert [(one["line"], one["source"]) for one in found] == [(2, "a b %d")]
    assert set(found[0]) == {"line", "source", "text", "flags", "confidence"}
    assert "Translated" in err


def test_a_document_that_is_broken_leaves_nothing_behind(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "app.xlf", tmp_path / "out.xlf"
    source.write_text("<xliff><file>", encoding="utf-8")
    assert main(["run", model, str(source), "-o", str(target)]) == 3
    assert "not well-formed XML" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.xlf"]
