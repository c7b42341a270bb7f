"""docs/settings.md is what its generator makes of the schema."""

from __future__ import annotations

import re
import sys

import pytest

from dragoman.config.key_lookup import all_names
from dragoman.config.load import load
from support.pages import ROOT


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import generate_settings

    monkeypatch.delitem(sys.modules, "generate_settings")
    return generate_settings.page().rstrip("\n") + "\n"


def test_committed_page_is_current(page: str) -> None:
    committed = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert committed == page, "python docs/generate_settings.py"


def test_every_setting_is_described(page: str) -> None:
    found = dict(re.findall(r"^`([\w.]+)`[^\n]*\n: ([^\n]*)$", page, re.M))
    described = {name.rpartition(".")[2] for name in found}
    assert {name.rpartition(".")[2] for name in all_names()} - {"task"} <= described
    assert all(found.values())


def test_each_of_the_first_examples_can_be_typed(page: str) -> None:
    examples = re.findall(r"^\[?`([\w.]+=\S+)`", page.partition("## Where")[0], re.M)
    assert examples
    sample = [str(ROOT / "docs" / "tatoeba" / f"sample.{language}") for language in ("en", "de")]
    for example in examples:
        load(None, [example], {"data": {"train": [{"files": sample}]}})
