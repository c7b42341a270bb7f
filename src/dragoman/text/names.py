"""The names by which another engine knows our ids."""

from __future__ import annotations

from dragoman.text.tokenizer import Tokenizer


def names(tokenizer: Tokenizer) -> list[str]:
    """A name for each id, none twice: ids are looked up by name, and a word may look like a special."""
    found: dict[str, int] = {}
    for id in range(tokenizer.size):
        name = tokenizer.piece(id)
        found[name if name not in found else f"{name}#{id}"] = id
    return list(found)
