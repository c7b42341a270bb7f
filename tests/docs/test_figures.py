"""The generated page and the table of the README show the figures of benchmarks/results.json."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import pytest

from benchmarks import results
from support.pages import ROOT

KEYS = {"key", "what", "figure", "unit", "command", "commit", "date", "machine"}
ENTRIES = results.entries()
SECTION = re.search(
    r"^## Six numbers\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S
)
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) <!-- ([\w. ]+) --> \|$", SECTION[1] if SECTION else "", re.M)


def numbers(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", text)


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("generate_benchmarks")


def test_committed_page_is_current(generator: ModuleType) -> None:
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert committed == generator.page(), "python docs/generate_benchmarks.py"


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_a_figure_says_how_it_was_measured(entry: results.Entry) -> None:
    assert entry.keys() >= KEYS
    assert entry.keys() <= KEYS | {"interval", "note", "older"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry["date"])
    module = re.match(r"python -m (benchmarks\.\w+\.\w+)( |$)", entry["command"])
    assert module, entry["command"]
    assert (ROOT / f"{module[1].replace('.', '/')}.py").is_file()


def test_every_row_of_the_readme_names_its_figures() -> None:
    assert SECTION
    assert len(ROWS) == len(re.findall(r"^\|", SECTION[1], re.M)) - 2 == 6


@pytest.mark.parametrize(("what", "result", "keys"), ROWS, ids=[keys.split()[0] for _, _, keys in ROWS])
def test_numbers_of_the_readme_are_the_figures(what: str, result: str, keys: str) -> None:
    entries = [ENTRIES[key] for key in keys.split()]
    assert numbers(result) == [number for entry in entries for number in numbers(results.shown(entry))]
    known = {number for entry in entries for number in numbers(f"{entry['what']} {results.shown(entry)}")}
    assert set(numbers(what)) <= known


def test_the_readme_says_when_its_figures_were_measured() -> None:
    assert SECTION
    days = {ENTRIES[key]["date"] for _, _, keys in ROWS for key in keys.split()}
    assert days == set(re.findall(r"\d{4}-\d\d-\d\d", SECTION[1]))
    older = any("older" in ENTRIES[key] for _, _, keys in ROWS for key in keys.split())
    assert older == ("older" in SECTION[1])
