"""Where a word begins and ends in running text, and when two spellings count as one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# Scripts that put no space between words: in them a term may begin and end anywhere.
UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


@lru_cache(maxsize=1 << 16)
def is_letter(character: str) -> bool:
    """A letter, digit or mark that holds a word together."""
    if any(low <= ord(character) <= high for low, high in UNSPACED):
        return False
    return character.isalnum() or character == "_" or unicodedata.combining(character) > 0


def is_inside(text: str, place: int) -> bool:
    """Whether a cut before `place` would go through a word."""
    return 0 < place < len(text) and is_letter(text[place - 1]) and is_letter(text[place])


def fold(character: str) -> str:
    """Its lower case, where that is one character: a text keeps its places."""
    lower = character.lower()
    return lower if len(lower) == 1 else character


def folded(text: str) -> str:
    return "".join(map(fold, text))


def agrees(term: str, written: str) -> bool:
    """A term in small letters stands for every case of it; one with capitals only for itself."""
    return term == written or term == folded(written)


def occurrences(form: str, text: str) -> Iterator[int]:
    """Where `form` stands in `text` as words of its own, one after the other."""
    start = text.find(form)
    while form and start >= 0:
        is_whole = not is_inside(text, start) and not is_inside(text, start + len(form))
        if is_whole:
            yield start
        start = text.find(form, start + (len(form) if is_whole else 1))
