"""Tokenizer: a string to ids and back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


@runtime_checkable
class Tokenizer(Protocol):
    @property
    def kind(self) -> str:
        """The name of the segmentation, as in the settings."""

    @property
    def size(self) -> int:
        """Entries of the vocabulary, specials included."""

    def encode(self, text: str) -> list[int]:
        """The ids of a line, without <s> and </s>."""

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """What `encode` gives for each line, as arrays: a corpus has no time for one object a token."""

    def decode(self, ids: Sequence[int]) -> str:
        """The line that the ids spell; <pad>, <s> and </s> are skipped."""

    def resegment(self, ids: Sequence[int], rng: random.Random) -> list[int]:
        """Sub-word regularisation: other ids for the same line, or the same where the kind has none."""

    def piece(self, id: int) -> str:
        """One entry, for display."""

    def save(self, folder: Path, name: str) -> None: ...


def unique_token_names(tokenizer: Tokenizer) -> list[str]:
    """A name for each id, none twice: ids are looked up by name, and a word may look like a special."""
    found: dict[str, int] = {}
    for id in range(tokenizer.size):
        name = tokenizer.piece(id)
        found[name if name not in found else f"{name}#{id}"] = id
    return list(found)
