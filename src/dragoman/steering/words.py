"""Word boundaries in running text, and spellings that count as equal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dragoman.text.running_words import UNSPACED

# Default_Ignorable_Code_Point of Unicode 15: characters that are not visible, such as a soft hyphen.
INVISIBLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)


@lru_cache(maxsize=1 << 16)
def is_letter(character: str) -> bool:
    """Return whether a character is part of a word: a letter, a digit, a mark or an underscore."""
    if any(low <= ord(character) <= high for low, high in UNSPACED):
        return False
    return character == "_" or unicodedata.category(character)[0] in "LNM"


def is_inside(text: str, position: int) -> bool:
    """Return whether a cut before `position` would split a word. Invisible characters are ignored."""
    before = next((text[k] for k in range(position - 1, -1, -1) if not is_invisible(text[k])), " ")
    after = next((text[k] for k in range(position, len(text)) if not is_invisible(text[k])), " ")
    return is_letter(before) and is_letter(after)


def fold(character: str) -> str:
    """Return the lower case if it is one character, so that positions in a text do not change."""
    lower = character.lower()
    return lower if len(lower) == 1 else character


def folded(text: str) -> str:
    return "".join(map(fold, text))


def agrees(term: str, written: str) -> bool:
    """Return whether a term matches: in lower case it matches every case, with capitals only itself."""
    return term == written or term == folded(written)


def occurrences(form: str, text: str) -> Iterator[int]:
    """Yield where `form` occurs in `text` as whole words, without overlaps."""
    start = text.find(form)
    while form and start >= 0:
        is_whole = not is_inside(text, start) and not is_inside(text, start + len(form))
        if is_whole:
            yield start
        start = text.find(form, start + (len(form) if is_whole else 1))


class Spelling(NamedTuple):
    """The decomposition of a character, equal for all spellings that look alike."""

    exact: tuple[str, ...]  # letters and their marks, one by one, without invisible characters
    small: tuple[str, ...]  # the same with case folded: ß is ss
    letter: bool  # it is part of a word


@lru_cache(maxsize=1 << 16)
def spelling(character: str) -> Spelling:
    """Decompose by NFKD if that maps a letter to letters (ﬁ, 𝐟, ｆ), otherwise by NFD; then fold case."""
    if is_invisible(character):
        return Spelling((), (), False)
    if character.isspace():
        return Spelling((" ",), (" ",), False)
    parts = unicodedata.normalize("NFKD", character)
    if not character.isalnum() or not all(part.isalnum() or is_mark(part) for part in parts):
        parts = unicodedata.normalize("NFD", character)
    exact = [part for part in parts if not is_invisible(part)]
    small = [part if is_mark(part) else unicodedata.normalize("NFD", part.casefold()) for part in exact]
    return Spelling(tuple(exact), tuple("".join(small)), any(map(is_letter, exact)))


@lru_cache(maxsize=1 << 16)
def is_invisible(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in INVISIBLE)


def is_mark(character: str) -> bool:
    """Return whether it belongs to the letter before it: also the vowel signs of Indic scripts."""
    return unicodedata.category(character)[0] == "M"
