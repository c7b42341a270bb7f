"""Lines with what looks like a special piece: alone, between words, inside a word, in a row."""

from __future__ import annotations

import random

from dragoman.text.specials import SPECIALS

LIKE_SPECIALS = (*SPECIALS, "▁", "⁇", "<0x0A>", "<0x03>", "\u2585", "\0")
WORDS = ("the", "man", "rides", "ein", "Mann", "<", ">", "s", "/s")


def injections(count: int = 1000, seed: int = 3) -> list[str]:
    rng = random.Random(seed)
    return [
        "".join(
            rng.choice(LIKE_SPECIALS if rng.random() < 0.5 else WORDS) + rng.choice(("", " ", " "))
            for _ in range(rng.randrange(1, 12))
        )
        for _ in range(count)
    ]
