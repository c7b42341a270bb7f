"""No word is cut, at any width: help and messages are broken between words, and in a pipe they are whole."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.main import VERBS, main
from dragoman.cli.wrapping import shortened, wrapped
from hostile.verbs import drive
from support.pseudo_terminal import watched
from support.tiny_bundle import tiny_folder

WIDTHS = (60, 72, 80, 100, 140, 200)
WORDS = st.lists(st.text("abcdé,.=-/", min_size=1, max_size=30), min_size=1, max_size=20)


def words(text: str) -> list[str]:
    """The words of a text, however its lines are broken: at the end of a line, a command has a backslash."""
    return text.replace("\\\n", "\n").split()


def too_wide(text: str, columns: int) -> list[str]:
    return [line for line in text.split("\n") if len(line) > columns]


def help_at(columns: int, verb: str, monkeypatch: pytest.MonkeyPatch) -> str:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([verb, "--help"] if verb else ["--help"]) == 0
    return out.getvalue()


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_cuts_no_word(verb: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = help_at(columns, verb, monkeypatch)
    assert not too_wide(shown, columns)
    assert words(shown) == words(help_at(10_000, verb, monkeypatch))


def test_help_of_the_command_is_one_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert help_at(80, "", monkeypatch).count("\n") <= 30


@pytest.mark.parametrize("verb", VERBS)
def test_examples_of_the_help_are_commands(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is for people to copy is understood by a shell as it is broken, too."""
    whole = help_at(10_000, verb, monkeypatch).partition("\narguments:")[0]
    narrow = help_at(60, verb, monkeypatch).partition("\narguments:")[0].replace("\\\n", "")
    for command in re.findall(r"^  (dragoman .*?)(?: {3,}.*)?$", whole, re.MULTILINE):
        assert any(
            shlex.split(line.strip())[: len(shlex.split(command))] == shlex.split(command)
            for line in narrow.split("\n")
            if line.startswith("  dragoman")
        ), command


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("wrapping")
    tiny_folder(home / "en-de" / "model")
    for name in ("train.en", "train.de"):
        (home / name).write_text("".join(f"{name} {n} some words\n" for n in range(60)), encoding="utf-8")
    (home / "other.de").write_text("one line\n", encoding="utf-8")
    return home


@pytest.mark.parametrize(
    "command",
    [
        "trian train.en train.de",
        "run nothing hello",
        "run en-de hello search.kind=beem",
        "run en-de hello --nbst 3",
        "train train.en train.de -o en-de --budget soon",
        "train train.en train.de --valid other.en other.de -o en-de-small",
        "train train.en train.de --valid -o en-de-small model.preset=nothing",
        "check train.en other.de",
        "check train.en train.de --valid train.en train.de",
        "check en-de",
        "info en-de",
        "info --settings warmup",
        "info --presets",
        "new",
        "score train.de --hyp train.en",
        "score train.de --hyp train.en --against train.de",
        "show en-de train.en nothing",
    ],
)
def test_messages_cut_no_word(command: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe a message is whole; in a terminal, `wrapped` breaks each of its lines."""
    monkeypatch.chdir(home)
    done = drive(*command.split())
    for line in f"{done.out.decode()}{done.err}".split("\n"):
        for columns in WIDTHS:
            shown = wrapped(line, columns)
            assert words(shown) == words(line)
            assert not [part for part in too_wide(shown, columns) if " " in part.strip()]


@given(st.sampled_from(["", "  ", "  where     ", "Plan   ", "error  "]), WORDS, st.integers(1, 90))
def test_words_stay_whole_and_lines_fit(label: str, words: list[str], width: int) -> None:
    line = label + " ".join(words)
    shown = wrapped(line, width).split("\n")
    assert " ".join(shown).split() == line.split()
    for part in shown:
        assert len(part) <= width or len(part.split()) == 1 or part.startswith(label.rstrip() or "\0")
    indent = len(label) if 0 < len(label) <= width // 2 else 2
    assert all(part.startswith(" " * indent) for part in shown[1:])


@given(
    st.sampled_from(["Next: ", "  fix       ", "To resume:  ", "Fix the lines there, then: ", "      "]),
    st.lists(
        st.sampled_from(["train.en", "--valid", "val.en", "-o", "en-de", "a.b=c", "'two words, or so'"])
    ),
    st.integers(40, 200),
)
def test_a_command_that_is_broken_is_the_same_to_a_shell(before: str, given: list[str], width: int) -> None:
    command = " ".join(["dragoman train", *given])
    shown = wrapped(f"{before}{command}", width)
    assert words(shown) == words(f"{before}{command}")
    assert shlex.split(shown[shown.index("dragoman") :].replace("\\\n", " ")) == shlex.split(command)
    assert all(len(line) <= width for line in shown.split("\n"))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "Next: dragoman train train.en train.de -o en-de",
            ["Next:", "  dragoman train train.en train.de \\", "    -o en-de"],
        ),
        (
            "  fix       Fix the lines there, then: dragoman check a.en a.de",
            ["  fix       Fix the lines there, then:", "            dragoman check a.en a.de"],
        ),
        (
            "Saved at update 500. To resume:  dragoman train a.en a.de -o run",
            ["Saved at update 500. To resume:", "  dragoman train a.en a.de -o run"],
        ),
        (
            "  ! validation data: 12.5 % of 200 pairs are in training",
            ["  ! validation data: 12.5 % of 200 pairs", "    are in training"],
        ),
    ],
)
def test_commands_and_labels_stay_together(line: str, shown: list[str]) -> None:
    assert wrapped(line, 40).split("\n") == shown


def test_what_has_one_line_is_cut_between_words() -> None:
    line = "Preparing a.en   1,000 of 2,000 pairs   9 s left"
    assert [shortened(line, width) for width in (48, 40, 24, 9)] == [
        line,
        "Preparing a.en   1,000 of 2,000 pairs …",
        "Preparing a.en   1,000 …",
        "Preparin…",
    ]


def test_texts_are_below_each_other() -> None:
    shown = wrapped("  expected  one of translate, train, run, score", 32)
    assert shown == "  expected  one of translate,\n            train, run, score"


@pytest.mark.parametrize("columns", [40, 60])
def test_error_in_a_narrow_terminal(columns: int) -> None:
    piped = drive("run", "nowhere", "a", "search.kind=beem").err
    code, seen = watched("run", "nowhere", "a", "search.kind=beem", columns=columns)
    assert code != 0
    seen = seen.split("\x1b[K")[-1]
    assert words(seen) == words(piped)
    assert not too_wide(seen, columns)


def test_json_in_a_narrow_terminal_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("ein Wort\tone word\n" * 60, encoding="utf-8")
    code, seen = watched("check", str(tmp_path / "a.tsv"), "--json", columns=40)
    assert code == 0
    assert seen.startswith("{")
    assert "}\n" in seen.partition("Next")[0]
    assert "\n" not in seen.partition("}\n")[0]
