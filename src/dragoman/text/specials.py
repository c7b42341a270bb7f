"""The four ids that are no text, the same in every vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import DragomanError

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
UNKNOWN = "⁇"  # what <unk> looks like in decoded text


def textual(ids: Sequence[int], size: int) -> list[int]:
    """The ids that carry text: <pad>, <s> and </s> left out, ids beyond the vocabulary refused."""
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
