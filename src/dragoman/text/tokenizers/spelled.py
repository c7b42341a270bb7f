"""Spelled words: each word is its id and the bytes of its spelling, so that unknown words differ.

A row is w b₁ … b_n w' b'₁ …, with the 256 bytes after the specials, and the words after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.text.specials import EOS, PAD, SPECIALS, UNK, UNKNOWN, check, textual
from dragoman.text.tokenizer import Row
from dragoman.text.tokenizers.vocabulary_tokenizer import VocabularyTokenizer
from dragoman.text.vocabulary import Vocabulary
from dragoman.text.vocabulary_characters import BEGIN, END, MAX_WORD_CHARACTERS

BYTES = 256
FIRST_BYTE, FIRST_WORD = len(SPECIALS), len(SPECIALS) + BYTES
ALPHABET = END + 1 + BYTES  # ids of bytes in an array of `spelled_rows`


class Spelled(VocabularyTokenizer):
    kind = "spelled"

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.size += BYTES

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Spelled:
        counts = Counter(word for line in lines for word in line.split(" "))
        return cls(Vocabulary.most_frequent(counts, size))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for word in text.split(" ") if text else ():
            id = self.vocabulary.id(word)
            ids.append(id if id == UNK else id + BYTES)
            ids += [FIRST_BYTE + byte for byte in word.encode()[:MAX_WORD_CHARACTERS]]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the words: known ones by their ids, others by their bytes."""
        words: list[bytes] = []
        is_known = True
        for id in textual(ids, self.size):
            if id == UNK or id >= FIRST_WORD:
                is_known = id != UNK
                words.append(self.vocabulary.text(id - BYTES).encode() if is_known else b"")
            elif words and not is_known:
                words[-1] += bytes([id - FIRST_BYTE])
        return " ".join(word.decode(errors="replace") or UNKNOWN for word in words)

    def piece(self, id: int) -> str:
        check(id, self.size)
        if FIRST_BYTE <= id < FIRST_WORD:
            return f"<0x{id - FIRST_BYTE:02X}>"
        return self.vocabulary.piece(id if id < FIRST_BYTE else id - BYTES)


def is_word(ids: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which ids are words, and not bytes of their spelling."""
    return (ids < FIRST_BYTE) | (ids >= FIRST_WORD)


def lengths(rows: Sequence[Sequence[int] | NDArray[Any]], kind: str) -> list[int]:
    """Return the number of tokens of each row of these units, or of frames: a spelled word is one."""
    return [int(is_word(np.asarray(row)).sum()) for row in rows] if kind == "spelled" else [*map(len, rows)]


def spelled_rows(
    rows: Sequence[Sequence[int] | Row], length: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return rows of spelled words as an array (B, S, 1 + C) and the mask of its words, (B, S).

    The first number of a word is its id; BEGIN b₁ … b_n END follow, padded with 0. Each row ends with </s>,
    which has no bytes.
    """
    flat = np.concatenate([np.asarray(row, np.int64) for row in rows])
    row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    is_start = is_word(flat)
    counts = np.bincount(row_of[is_start], minlength=len(rows))
    number = np.cumsum(is_start) - 1  # of the word that each id belongs to, in all rows
    place = number - (np.cumsum(counts) - counts)[row_of]  # in its own row
    starts = np.flatnonzero(is_start)
    letter = np.arange(len(flat)) - starts[number]
    position = np.arange(length or int(counts.max(initial=0)) + 1)
    out = np.full((len(rows), len(position), int(letter.max(initial=0)) + 3), PAD, dtype=np.int64)
    out[row_of, place, np.where(is_start, 0, letter + 1)] = np.where(
        is_start, flat, flat - FIRST_BYTE + END + 1
    )
    out[row_of[starts], place[starts], 1] = BEGIN
    out[row_of[starts], place[starts], np.diff(starts, append=len(flat)) + 1] = END
    out[np.arange(len(rows)), counts, 0] = EOS
    return out, position <= counts[:, None]
