"""docs/benchmarks.md is what its generator makes of the results, and the README quotes them."""

from __future__ import annotations

import json
import re
import sys

import pytest

from support.pages import ROOT


def test_committed_page_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import generate_benchmarks

    monkeypatch.delitem(sys.modules, "generate_benchmarks")
    committed = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert committed == generate_benchmarks.page(), "python docs/generate_benchmarks.py"


def test_numbers_of_the_readme_are_results() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text[text.index("## Six numbers") : text.index("## More")]
    shown = [row.rpartition(" | ")[2] for row in table.split("\n") if row.startswith("| ")][1:]
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    known = set(re.findall(r"\d+(?:\.\d+)?", " ".join(row["result"] for row in results)))
    numbers = [number for cell in shown for number in re.findall(r"\d+\.\d+", cell)]
    assert len(shown) == 6
    assert not [number for number in numbers if number not in known]


def test_scripts_of_the_results_exist() -> None:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    named = [file for row in results for file in re.findall(r"benchmarks/[\w/]+\.\w+", row["how"])]
    assert len(named) >= 20
    assert not [file for file in named if not (ROOT / file).is_file()]
