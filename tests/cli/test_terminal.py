"""What a terminal would obey never reaches one, wherever it comes from; a file or a pipe gets every byte."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

import support.tiny_bundle as tiny_bundle
from dragoman.cli.main import main
from dragoman.cli.terminal import (
    BOLD,
    GREEN,
    MARK,
    PLAIN,
    RED,
    YELLOW,
    give,
    harmless,
    printable,
    say,
    say_marked,
)
from hostile.verbs import drive

CLEAR, CSI, OVERRIDE = "\x1b[2J", "\x9b31m", "\u202e"
SOURCES = Path(__file__).parents[2] / "src" / "dragoman"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def obeying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A model whose every word is a sequence for a terminal."""
    monkeypatch.setattr(tiny_bundle, "WORDS", [f"{CLEAR}{CSI}{OVERRIDE}{letter}" for letter in "abcdefgh"])
    return tiny_bundle.tiny_folder(tmp_path / "model")


@pytest.mark.parametrize("how", [(), ("--json",), ("--nbest", "2")])
def test_outputs_of_a_model(how: tuple[str, ...], obeying: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = drive("run", str(obeying), "a b", *how)
    assert piped.code == 0, piped.err
    assert CSI.encode() in piped.out  # JSON writes C0 in other words, and C1 as it is
    seen = Terminal()
    monkeypatch.setattr(sys, "stdout", seen)
    assert main(["run", str(obeying), "a b", *how]) == 0
    shown = seen.getvalue()
    assert shown == harmless(piped.out.decode())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert MARK in shown


def test_to_a_file_from_a_terminal(obeying: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = drive("run", str(obeying), "a b")
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["run", str(obeying), "a b", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == piped.out


def test_terms_of_a_glossary(tmp_path: Path) -> None:
    folder = tiny_bundle.tiny_folder(tmp_path / "model")
    (tmp_path / "terms.tsv").write_text(f"a\tb c d e f{CLEAR}\n", encoding="utf-8")
    done = drive("run", str(folder), "a b", "--glossary", str(tmp_path / "terms.tsv"), "search.max_length=2")
    assert done.code == 0, done.err
    assert f"a → b c d e f{MARK}[2J" in done.err
    assert "\x1b" not in done.err


def test_names_of_files(tmp_path: Path) -> None:
    folder = tiny_bundle.tiny_folder(tmp_path / f"mo{CLEAR}del")
    for verb in (["check", str(folder)], ["run", str(folder), "a b"], ["check", f"{folder}{CLEAR}"]):
        assert "\x1b" not in drive(*verb).err
    done = drive("new", "dates", "-o", str(tmp_path / f"da{CLEAR}tes"))
    assert CLEAR.encode() in done.out  # another program may want the very name
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("  ✗ 3 lines not UTF-8", f"  {RED}✗ {PLAIN}3 lines not UTF-8"),
        ("  ! 2 pairs", f"  {YELLOW}! {PLAIN}2 pairs"),
        ("a  ████████ 100 %  b", f"a  {GREEN}████████{PLAIN} 100 %  b"),
        ("a  ████░░░░  50 %  b", f"a  {YELLOW}████{PLAIN}░░░░  50 %  b"),
        ("a  █░░░░░░░  12 %  b", f"a  {RED}█{PLAIN}░░░░░░░  12 %  b"),
        ("Wait! Not ✗ here", "Wait! Not ✗ here"),
    ],
)
def test_colours_say_what_a_line_means(
    line: str, seen: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say(line)
    assert capsys.readouterr().out == f"{line}\n", "no terminal"
    for variables, shown in (({}, seen), ({"NO_COLOR": "1"}, line), ({"TERM": "dumb"}, line)):
        terminal = Terminal()
        with monkeypatch.context() as here:
            here.setattr(sys, "stdout", terminal)
            for name, value in ({"NO_COLOR": "", "TERM": "xterm"} | variables).items():
                here.setenv(name, value)
            say(line)
        assert terminal.getvalue() == f"{shown}\n"


def test_marked_words_are_wrapped_with_their_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Terminal()
    monkeypatch.setattr(sys, "stdout", seen)
    monkeypatch.setattr("dragoman.cli.terminal.columns", lambda file: 24)
    parts = [("  this  ", False), ("one two three", True), (" four", False)]
    for no_color in ("", "1"):
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setenv("TERM", "xterm")
        say_marked(parts)
    assert seen.getvalue() == (
        f"  this  {BOLD}one two three\n        {PLAIN}four\n  this  [one two three]\n        four\n"
    )


def test_what_is_harmless_stays(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Straße\u00a0میں\u200cخواهم 👩\u200d🚒 a\u00adb\tשלום\u200f"
    assert harmless(f"{text}\n") == f"{text}\n"
    assert printable("a\nb\tc") == f"a{MARK}b{MARK}c"
    assert harmless("\udc9b31m\x85\u2028") == f"{MARK}31m{MARK}{MARK}"
    give(f"{CLEAR}\n")
    assert capsys.readouterr().out == f"{CLEAR}\n"


def test_commands_write_through_one_place() -> None:
    """`main` says its own name and version, and the one word of an error that has a colour."""
    found = [
        file.relative_to(SOURCES).as_posix()
        for file in sorted(SOURCES.rglob("*.py"))
        if re.search(r"sys\.std(out|err)\.write|(?<![.\w])print\(", file.read_text(encoding="utf-8"))
    ]
    assert found == ["cli/main.py", "cli/terminal.py"]
