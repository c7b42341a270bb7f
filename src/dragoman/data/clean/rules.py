"""Rules about a single pair."""

from __future__ import annotations

import re

from dragoman.data.pair import Pair

MAX_SIDE_CHARACTERS = 4000  # a longer side is a document, not a sentence

# C0 and C1 controls except the tab, and the invisible controls that change the direction of text.
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def is_empty(pair: Pair) -> bool:
    return not pair.src or not pair.tgt or pair.src.isspace() or pair.tgt.isspace()


def is_too_long(pair: Pair) -> bool:
    return len(pair.src) > MAX_SIDE_CHARACTERS or len(pair.tgt) > MAX_SIDE_CHARACTERS


def is_copy(pair: Pair) -> bool:
    return pair.src == pair.tgt


def has_control(pair: Pair) -> bool:
    return CONTROL.search(pair.src) is not None or CONTROL.search(pair.tgt) is not None
