"""Shapes in signatures are checked in every test run."""

from __future__ import annotations

import pytest
import torch
from jaxtyping import TypeCheckError

from dragoman.losses.risk import expected_risk


def test_shapes_are_checked_whenever_they_are_new() -> None:
    for _ in range(2):
        expected_risk(torch.zeros(2, 3), torch.zeros(2, 3), 1.0)
        for log_p, delta in (((2, 3), (2, 4)), ((2,), (2, 3)), ((2, 3), (3, 2))):
            with pytest.raises(TypeCheckError):
                expected_risk(torch.zeros(log_p), torch.zeros(delta), 1.0)
    with pytest.raises(TypeCheckError):
        expected_risk(torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.int64), 1.0)
