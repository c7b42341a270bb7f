"""Every axis letter of a shape is in the one legend."""

from __future__ import annotations

import re
from pathlib import Path

from dragoman import shapes

PACKAGE = Path(__file__).parents[2] / "src" / "dragoman"
SHAPE = re.compile(r'(?:Float|Int|Bool)\[\w+, "([^"]*)"\]')


def test_every_axis_letter_is_in_the_legend() -> None:
    sources = (file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    used = {axis for source in sources for shape in SHAPE.findall(source) for axis in shape.split()}
    assert {"B", "S", "T", "*n"} < used
    legend = set(re.findall(r"\*?\b[A-Za-z]\b", shapes.__doc__ or ""))
    assert used - legend - {"1", "*shape"} == set()
