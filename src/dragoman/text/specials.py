"""The four special ids, which are the same in every vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import DragomanError

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
UNKNOWN = "⁇"  # how <unk> appears in decoded text


def textual(ids: Sequence[int], size: int) -> list[int]:
    """Return the ids without <pad>, <s> and </s>; raise DragomanError for ids outside the vocabulary."""
    for id in ids:
        check(id, size)
    return [id for id in ids if id == UNK or id > EOS]


def check(id: int, size: int) -> None:
    if not 0 <= id < size:
        raise DragomanError(
            f"The vocabulary has no id {id}.",
            expected=f"ids from 0 to {size - 1}",
            hint="Decode with the vocabulary that the model was trained with.",
        )
