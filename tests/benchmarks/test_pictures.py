"""The pictures and tables of the documentation are what their scripts make of the facts beside them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.quality import bleu_against_length, compression, vanishing
from benchmarks.results_page import PAGE, PICTURES, kept, marks, section, with_section
from benchmarks.speed import cost_against_length

SCRIPTS = {s.NAME: s for s in (bleu_against_length, cost_against_length, vanishing, compression)}
KEPT = [SCRIPTS[file.stem] for file in sorted(PICTURES.glob("*.json")) if file.stem in SCRIPTS]


def test_every_picture_has_a_script_and_a_place_on_the_page() -> None:
    drawn = {file.stem for file in PICTURES.iterdir()}
    assert drawn == {script.NAME for script in KEPT}
    for name, script in SCRIPTS.items():
        page = page_of(script).read_text(encoding="utf-8")
        assert all(page.count(mark) == 1 for mark in marks(name))


def page_of(script: ModuleType) -> Path:
    return getattr(script, "PAGE", PAGE)


@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.NAME)
def test_picture_is_drawn_from_its_facts(script: ModuleType) -> None:
    drawn = (PICTURES / f"{script.NAME}.svg").read_text(encoding="utf-8")
    assert drawn == script.picture(kept(script.NAME)), f"python -m {script.__name__} --redraw"


@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.NAME)
def test_table_is_made_of_its_facts(script: ModuleType) -> None:
    page, facts = page_of(script).read_text(encoding="utf-8"), kept(script.NAME)
    written = section(script.NAME, facts, script.table(facts))
    assert page == with_section(page, script.NAME, written), f"python -m {script.__name__} --redraw"
