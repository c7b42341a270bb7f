"""Every axis letter of a shape is in the one legend."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError

from dragoman import shapes
from dragoman.losses.risk import expected_risk

PACKAGE = Path(__file__).parents[2] / "src" / "dragoman"
SHAPE = re.compile(r'(?:Float|Int|Bool)\[\w+, "([^"]*)"\]')


def test_every_axis_letter_is_in_the_legend() -> None:
    sources = (file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    used = {axis for source in sources for shape in SHAPE.findall(source) for axis in shape.split()}
    assert {"B", "S", "T", "*n"} < used
    legend = set(re.findall(r"\*?\b[A-Za-z]\b", shapes.__doc__ or ""))
    assert used - legend - {"1", "*shape"} == set()


def test_shapes_are_checked_whenever_they_are_new() -> None:
    for _ in range(2):
        expected_risk(torch.zeros(2, 3), torch.zeros(2, 3), 1.0)
        for log_p, delta in (((2, 3), (2, 4)), ((2,), (2, 3)), ((2, 3), (3, 2))):
            with pytest.raises(TypeCheckError):
                expected_risk(torch.zeros(log_p), torch.zeros(delta), 1.0)
    with pytest.raises(TypeCheckError):
        expected_risk(torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.int64), 1.0)
