"""Character spans (start, end) of tokens and words in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from dragoman.text.tokenizer import Tokenizer

CharSpan = tuple[int, int]


def word_spans(text: str) -> list[CharSpan]:
    """Return the spans of the words that white space separates."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def token_spans(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[CharSpan]:
    """Return one span per id, without the spaces around it; empty for a part of a character."""
    ends = [min(end, len(text)) for end in token_ends(tokenizer, ids, text)]
    return [without_spaces(text, start, end) for start, end in zip([0, *ends], ends, strict=False)]


def token_ends(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[int]:
    if tokenizer.kind == "word":  # not decoded, as an unknown word has another spelling in the text
        return list(accumulate(text.split(" "), lambda end, word: end + 1 + len(word), initial=-1))[1:][
            : len(ids)
        ]
    if tokenizer.kind == "char":
        return list(range(1, len(ids) + 1))
    whole = tokenizer.decode(ids)
    read = (tokenizer.decode(ids[: place + 1]) for place in range(len(ids)))
    # An incomplete character is decoded as another one, so only the common prefix counts.
    return list(accumulate((common_prefix(part, whole) for part in read), max))


def common_prefix(part: str, whole: str) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(part, whole, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(part), len(whole)))


def without_spaces(text: str, start: int, end: int) -> CharSpan:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
