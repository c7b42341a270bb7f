"""The generated page and the proofs of the README show the figures of benchmarks/results.json."""

from __future__ import annotations

import importlib
import re
from math import ceil
from types import ModuleType

import pytest

from benchmarks import results
from support.pages import ROOT

KEYS = {"key", "what", "figure", "unit", "command", "commit", "date", "machine"}
ENTRIES = results.entries()
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAID = re.findall(r"^- ((?:(?!^- ).)+?) <!-- figures: ([\w. ]+) -->$", README, re.M | re.S)


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


def test_the_readme_has_three_proofs() -> None:
    assert README.count("<!-- figures: ") == len(SAID) == 3


@pytest.mark.parametrize(("said", "keys"), SAID, ids=[keys.split()[0] for _, keys in SAID])
def test_numbers_of_the_readme_are_the_figures(said: str, keys: str) -> None:
    entries = [ENTRIES[key] for key in keys.split()]
    assert numbers(said) == [number for entry in entries for number in told(entry)]


@pytest.mark.parametrize("keys", [keys for _, keys in SAID])
def test_nothing_has_changed_since_the_figures_of_the_readme_were_measured(keys: str) -> None:
    assert not [key for key in keys.split() if "older" in ENTRIES[key]]


def told(entry: results.Entry) -> list[str]:
    """The numbers of a figure; more than a minute is told in minutes, rounded up."""
    seconds = entry["figure"] if entry["unit"] == "seconds" else 0
    return [str(ceil(seconds / 60))] if seconds > 60 else numbers(results.shown(entry))


def test_the_try_takes_as_long_as_was_measured() -> None:
    (minutes,) = re.findall(r"^## Try it: (\d+) minutes", README, re.M)
    assert told(ENTRIES["dates.seconds"]) == [minutes]
