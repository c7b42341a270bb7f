"""The style sheet of pictures is that of all pages: none has colours of its own, or one that is not there."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from dragoman.inspection.pictures import page
from dragoman.inspection.pictures.theme import style_sheet

REPORTS = resources.files("dragoman.reports") / "templates"
PAGES = {
    "show -o": page.STYLE,
    "the local page": (resources.files("dragoman.serving") / "page" / "style.css").read_text("utf-8"),
    **{file.name: file.read_text("utf-8") for file in REPORTS.iterdir() if file.name.endswith(".html")},
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_colours_of_its_own(name: str) -> None:
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_every_variable_of_a_page_is_defined(name: str) -> None:
    text = style_sheet() + PAGES[name] + PAGES["base.html"] * name.endswith(".html")
    used = set(re.findall(r"var\((--[\w-]+)", PAGES[name]))
    set_on_elements = {"--p", "--w"}  # by the scripts of the local page
    assert used <= set(re.findall(r"(--[\w-]+):", text)) | set_on_elements
