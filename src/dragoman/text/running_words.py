"""The words of running text in any script, for counting: without punctuation, in lower case."""

from __future__ import annotations

import re

# Scripts without spaces between words.
SOUTH_EAST_ASIAN = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))  # Thai and Lao, Myanmar, Khmer
KANA = ((0x3040, 0x30FF),)
HAN = ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
UNSPACED = (*SOUTH_EAST_ASIAN, *KANA, *HAN)
# Blocks of punctuation. What is not in them belongs to a word: also vowel signs, which `\w` leaves out.
PUNCTUATION = (
    *((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xA9), (0xAB, 0xB4), (0xB6, 0xB9)),
    *((0xBB, 0xBF), (0x60C, 0x60D), (0x61B, 0x61B), (0x61F, 0x61F), (0x66A, 0x66C), (0x6D4, 0x6D4)),
    *((0x964, 0x965), (0x2000, 0x206F), (0x3000, 0x303F), (0xFF01, 0xFF0F), (0xFF1A, 0xFF20)),
    *((0xFF3B, 0xFF40), (0xFF5B, 0xFF65)),
)


def character_class(*ranges: tuple[int, int]) -> str:
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


# A character of a script without spaces counts as a word.
WORD = re.compile(f"[{character_class(*UNSPACED)}]|[^\\s{character_class(*PUNCTUATION, *UNSPACED)}]++")


def words_of(line: str) -> list[str]:
    """Return the words of a line, which spaces and tabs separate; a no-break space does not."""
    return [word for word in line.replace("\t", " ").split(" ") if word]


def running_words(text: str) -> list[str]:
    return WORD.findall(text.lower())


def one_label(text: str) -> list[str]:
    """Return the labels of a text that is one."""
    return [text]
