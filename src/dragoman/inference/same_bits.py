"""The same sum for the same row, whatever stands beside it in the batch and however many threads share it."""

from __future__ import annotations

import os


def ask_for_same_bits() -> None:
    """MKL's strict reproducibility. It is read at the first product, so ask before that."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
