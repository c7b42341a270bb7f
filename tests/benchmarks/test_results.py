"""A figure is kept with how, on what and when it was measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import results

KNOWN = {"key": "a.b", "what": "speed", "figure": 1.0, "unit": "×", "older": "it has changed since"}


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "results.json"
    file.write_text(json.dumps([KNOWN, {**KNOWN, "key": "c"}]), encoding="utf-8")
    monkeypatch.setattr(results, "RESULTS", file)
    return file


def test_a_new_figure_takes_the_place_of_an_older_one(file: Path) -> None:
    results.record("a.b", 1.23, "×", (1.2, 1.3), "one thread", command="python -m benchmarks.speed.a")
    entry, other = json.loads(file.read_text(encoding="utf-8"))
    assert (entry["what"], entry["figure"], entry["interval"], entry["note"]) == (
        "speed",
        1.23,
        [1.2, 1.3],
        "one thread",
    )
    assert entry["commit"]
    assert entry["date"]
    assert entry["machine"]
    assert "older" not in entry
    assert other == {**KNOWN, "key": "c"}


def test_a_figure_of_a_new_key_says_what_it_is() -> None:
    with pytest.raises(SystemExit, match="d is new"):
        results.record("d", 1, "×", command="python -m benchmarks.speed.a")
    results.record("d", 1, "×", what="speed", command="python -m benchmarks.speed.a")
    assert list(results.entries()) == ["a.b", "c", "d"]


def test_the_command_names_no_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = ["x.py", str(tmp_path / "model"), "--lines", "10", "--record"]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", results.__spec__)
    assert results.command_line() == "python -m benchmarks.results model --lines 10"


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (1.59, "×", "1.59 ×"),
        (55900, "pairs/s", "55,900 pairs/s"),
        (3e-6, "", "0.000003"),
        (0, "of 20", "0 of 20"),
    ],
)
def test_figures_are_shown_with_their_units(figure: float, unit: str, text: str) -> None:
    assert results.shown({"figure": figure, "unit": unit}) == text
