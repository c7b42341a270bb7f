"""What the files on the pretend device share: a few models of each kind, and how they are combined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import State, Step

LENGTHS = [(5, 4), (3, 2), (4, 3), (5, 4)]
CPU = torch.device("cpu")
# One of each kind.
KINDS = [
    ("transformer", "transformer"),
    ("bilstm", "lstm fed"),
    ("gru", "gru additive fed"),
    ("conv", "conv"),
]


def few(pairs: list[tuple[str, str]]) -> list[Any]:
    """Mark all pairs as slow but a few that have each encoder and each decoder, as seldom as possible."""
    seen: set[str] = set()
    chosen = set()
    for new in (2, 1):
        for pair in pairs:
            names = {f"{pair[0]} →", f"→ {pair[1]}"}
            if len(names - seen) == new:
                seen |= names
                chosen.add(pair)
    return [pair if pair in chosen else pytest.param(pair, marks=pytest.mark.slow) for pair in pairs]


def crossed(names: Iterable[str]) -> list[Any]:
    """Return every name with every kind of model. All are slow but one for each name."""
    return [
        pytest.param(name, pair, marks=() if i % len(KINDS) == j else pytest.mark.slow)
        for (i, name), (j, pair) in product(enumerate(names), enumerate(KINDS))
    ]


def count_steps(model: Seq2Seq) -> Counter[str]:
    """Return a counter of the decoding steps of the model."""
    counter, step = Counter[str](), model.step

    def counted(y: Tensor, state: State) -> Step:
        counter["steps"] += 1
        return step(y, state)

    model.step = counted  # type: ignore[method-assign]
    return counter
