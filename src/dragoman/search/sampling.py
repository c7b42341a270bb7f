"""What every search by samples is given, over tensors and over arrays."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.search.scores import Normalise, length_normalised


@dataclass(frozen=True)
class Sampling:
    """Samples in the order in which they are drawn, independent of the other sentences of the batch."""

    size: int
    max_length: int
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 1
    normalise: Normalise = length_normalised
