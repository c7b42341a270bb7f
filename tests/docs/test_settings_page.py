"""docs/settings.md is what its generator makes of the schema."""

from __future__ import annotations

import sys

import pytest

from dragoman.config.key_lookup import all_names
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
    rows = [line for line in page.split("\n") if line.startswith("| `")]
    described = {row.split("`")[1].rpartition(".")[2] for row in rows}
    assert {name.rpartition(".")[2] for name in all_names()} - {"task"} <= described
    assert not [row for row in rows if row.endswith("|  |")]
