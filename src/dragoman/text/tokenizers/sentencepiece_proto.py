"""The file of a SentencePiece model, as far as it has to be taken apart.

Field 1 of the file is a piece, and stands once for each; its place is its id. SentencePiece can read such a
file but not leave pieces out of it, and the package that could is large.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.protobuf import fields

PIECE = 1  # number of the field


def with_pieces(model: bytes, ids: Sequence[int]) -> bytes:
    """The same model with these pieces only, in the order of `ids`."""
    found = list(fields(model))
    pieces = [field.raw for field in found if field.number == PIECE]
    rest = [field.raw for field in found if field.number != PIECE]
    return b"".join([*(pieces[id] for id in ids), *rest])
