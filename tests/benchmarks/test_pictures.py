"""The pictures and tables of the documentation are what their scripts make of the facts beside them."""

from __future__ import annotations

from types import ModuleType

import pytest

import bleu_against_length
import cost_against_length
import vanishing
from record import PAGE, PICTURES, kept, section, with_section

SCRIPTS = [bleu_against_length, cost_against_length, vanishing]


def test_every_picture_has_a_script() -> None:
    assert {file.stem for file in PICTURES.glob("*.svg")} == {script.NAME for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.NAME)
def test_picture_is_drawn_from_its_facts(script: ModuleType) -> None:
    drawn = (PICTURES / f"{script.NAME}.svg").read_text(encoding="utf-8")
    assert drawn == script.picture(kept(script.NAME)), f"python benchmarks/{script.NAME}.py --redraw"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.NAME)
def test_table_is_made_of_its_facts(script: ModuleType) -> None:
    page, facts = PAGE.read_text(encoding="utf-8"), kept(script.NAME)
    written = section(script.NAME, facts, script.table(facts))
    assert page == with_section(page, script.NAME, written), f"python benchmarks/{script.NAME}.py --redraw"
