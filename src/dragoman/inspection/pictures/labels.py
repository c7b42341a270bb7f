"""Tokens as labels of a picture: safe in XML and HTML, short, and with a known width.

A token may hold anything: markup (which is escaped where it is written), controls that XML forbids or that
turn the text around them, or ten thousand characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from dragoman.text.tokenizers.sentencepiece import MARK

LONGEST = 24
# Controls, also those of direction; line and paragraph separators; surrogates and noncharacters.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
NARROW, WIDE = frozenset("Iijlfrt.,;:'!|()[] "), frozenset("mwMW@%—…")  # letters
CONTROL_PICTURES = 0x2400  # ␀, ␁ … for U+0000 …


def safe(text: str) -> str:
    """Return the text with a visible sign for every character that a page could not show or would obey."""
    return UNSAFE.sub(visible, text)


def visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(CONTROL_PICTURES + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"


def label(token: str, longest: int = LONGEST) -> str:
    """Return a token as it is shown: safe, visible, and not longer than the picture can bear."""
    if token.isspace():
        token = token.replace(" ", "␣")
    shown = safe(token[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def labelled(tokens: Sequence[str]) -> list[str]:
    """Return the tokens of a text as they are shown: sub-words without the mark of a space. In scripts with
    upper and lower case, where words stand apart, a dot marks those that continue a word."""
    pieces = any(token.startswith(MARK) and len(token) > 1 for token in tokens)
    return [label(readable(token) if pieces else token) for token in tokens]


def readable(piece: str) -> str:
    if piece.startswith(MARK):
        return piece.removeprefix(MARK) or " "
    return f"·{piece}" if unicodedata.category(piece[0]) in ("Ll", "Lu") else piece


def width(text: str) -> float:
    """Return about how wide a text is, in units of the font size."""
    return sum(map(character_width, text))


def character_width(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.0
    return 0.4 if character in NARROW else 0.9 if character in WIDE else 0.62


def is_right_to_left(tokens: Sequence[str]) -> bool:
    """Return whether most letters are of a script that is written from right to left."""
    directions = [unicodedata.bidirectional(character) for token in tokens for character in token[:LONGEST]]
    right = sum(direction in ("R", "AL") for direction in directions)
    return right > sum(direction == "L" for direction in directions)
