"""The pictures and tables of the documentation are what their scripts make of the facts beside them."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.quality import bleu_against_length, compression, lesson, pairs_and_minutes, vanishing
from benchmarks.results_page import PAGE, PICTURES, file_name, kept, marks, section, with_section
from benchmarks.speed import cost_against_length
from dragoman.inspection.pictures.theme import THEMES, Theme

DRAWN = (bleu_against_length, cost_against_length, vanishing, compression, pairs_and_minutes)
SCRIPTS = {script.NAME: script for script in DRAWN}
KEPT = [SCRIPTS[file.stem] for file in sorted(PICTURES.glob("*.json")) if file.stem in SCRIPTS]


def test_every_picture_has_a_script_and_a_place_on_the_page() -> None:
    names = [*(script.NAME for script in KEPT), lesson.LESSON]
    files = {f"{name}.json" for name in names} | {file_name(n, t) for n in names for t in THEMES.values()}
    assert {file.name for file in PICTURES.iterdir()} == files
    for name, script in SCRIPTS.items():
        page = page_of(script).read_text(encoding="utf-8")
        assert all(page.count(mark) == 1 for mark in marks(name))


def page_of(script: ModuleType) -> Path:
    return getattr(script, "PAGE", PAGE)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.NAME)
def test_picture_is_drawn_from_its_facts(script: ModuleType, theme: Theme) -> None:
    drawn = (PICTURES / file_name(script.NAME, theme)).read_text(encoding="utf-8")
    assert drawn == script.picture(kept(script.NAME), theme), f"python -m {script.__name__} --redraw"


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_the_lesson_is_drawn_from_its_results(theme: Theme) -> None:
    drawn = (PICTURES / file_name(lesson.LESSON, theme)).read_text(encoding="utf-8")
    results = json.loads((PICTURES / f"{lesson.LESSON}.json").read_text(encoding="utf-8"))
    assert drawn == lesson.picture(results, theme)


@pytest.mark.parametrize("script", KEPT, ids=lambda script: script.NAME)
def test_table_is_made_of_its_facts(script: ModuleType) -> None:
    page, facts = page_of(script).read_text(encoding="utf-8"), kept(script.NAME)
    written = section(script.NAME, facts, script.table(facts))
    assert page == with_section(page, script.NAME, written), f"python -m {script.__name__} --redraw"
