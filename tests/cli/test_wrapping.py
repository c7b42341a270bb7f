"""Lines in a narrow terminal are broken between words; in a pipe they are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.main import main
from dragoman.cli.wrapping import wrapped
from hostile.verbs import drive
from support.pseudo_terminal import watched

WORDS = st.lists(st.text("abcdé,.=-/", min_size=1, max_size=30), min_size=1, max_size=20)


@given(st.sampled_from(["", "  ", "  where     ", "Plan   ", "error  "]), WORDS, st.integers(1, 90))
def test_words_stay_whole_and_lines_fit(label: str, words: list[str], width: int) -> None:
    line = label + " ".join(words)
    shown = wrapped(line, width).split("\n")
    assert " ".join(shown).split() == line.split()
    for part in shown:
        assert len(part) <= width or len(part.split()) == 1 or part.startswith(label.rstrip() or "\0")
    indent = len(label) if 0 < len(label) <= width // 2 else 2
    assert all(part.startswith(" " * indent) for part in shown[1:])


@pytest.mark.parametrize(
    "line",
    [
        "Next: dragoman train train.en train.de --valid val.en val.de -o en-de",
        "  fix       dragoman train train.en train.de --valid val.en val.de",
        "  fix       'training.betas=[0.9, 0.98]' and some more to type again",
        "      dragoman run en-de 'A man is riding a bicycle.'",
    ],
)
def test_what_is_typed_again_stays_whole(line: str) -> None:
    assert wrapped(line, 30) == line


def test_command_behind_a_sentence_is_not_broken() -> None:
    line = "Saved at update 500. To resume:  dragoman train a.en a.de -o run training.updates=1000"
    assert wrapped(line, 40).split("\n") == [
        "Saved at update 500.",
        "  To resume:  dragoman train a.en a.de -o run training.updates=1000",
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
    assert seen.split() == piped.split()
    assert all(len(line) <= columns for line in seen.split("\n") if not line.startswith("  fix"))


def test_report_in_a_narrow_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tsv").write_text("ein Wort\tone word\n" * 60, encoding="utf-8")
    assert main(["info", "--settings", "warmup"]) == 0
    piped = capsys.readouterr().out
    assert max(map(len, piped.split("\n"))) > 60
    code, seen = watched("info", "--settings", "warmup", columns=60)
    assert code == 0
    assert seen.split() == piped.split()
    assert max(map(len, seen.split("\n"))) <= 60
    code, seen = watched("check", str(tmp_path / "a.tsv"), "--json", columns=40)
    assert code == 0
    assert seen.startswith("{")
    assert "}\n" in seen.partition("Next")[0]
    assert "\n" not in seen.partition("}\n")[0]
