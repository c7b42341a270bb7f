"""Removal of pieces from a SentencePiece model file.

Field 1 of the file is repeated for each piece; the index of a piece is its id. SentencePiece can read such a
file but cannot remove pieces, and the package that can is large.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.protobuf import fields

PIECE = 1  # number of the field


def with_pieces(model: bytes, ids: Sequence[int]) -> bytes:
    """Return the model with only these pieces, in the order of `ids`."""
    found = list(fields(model))
    pieces = [field.raw for field in found if field.number == PIECE]
    rest = [field.raw for field in found if field.number != PIECE]
    return b"".join([*(pieces[id] for id in ids), *rest])
