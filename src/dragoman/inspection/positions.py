"""The vectors of positions that a network adds to its embeddings or turns its queries by."""

from __future__ import annotations

from torch import nn

from dragoman.inspection.attention import matrix
from dragoman.inspection.data import Positions
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.position import Learned, Rotary, Sinusoidal

SHOWN = 64


def positions_of(network: nn.Module) -> tuple[Positions, ...]:
    """Return the first vectors of every table, in the order of the network; equal sinusoids once."""
    found: list[Positions] = []
    for name, module in network.named_modules():
        match module:
            case Sinusoidal() | Learned() | Rotary():
                kind, table = type(module).__name__.lower(), module.table
            case PositionalEmbedding():
                kind, table = "learned", module.places
            case _:
                continue
        vectors = matrix(table[:SHOWN].detach())
        if vectors not in [other.vectors for other in found]:
            found.append(Positions(name, kind, vectors))
    return tuple(found)
