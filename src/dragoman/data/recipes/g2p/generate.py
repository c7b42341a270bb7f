"""Letters → phonemes: made-up words in the spelling of Spanish, which follows rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

SIZES = {"train": 8_000, "valid": 200, "test": 1_000}
# Spelling before a, o, u and before e, i → its phonemes.
HARD = {
    "b": "b", "v": "b", "d": "d", "f": "f", "j": "x", "l": "l", "m": "m", "n": "n", "p": "p", "s": "s",
    "t": "t", "ch": "tʃ", "ll": "ʝ", "ñ": "ɲ", "h": "", "y": "ʝ", "z": "θ", "c": "k", "g": "ɡ", "r": "ɾ",
    "rr": "r", "bl": "b l", "br": "b ɾ", "cl": "k l", "cr": "k ɾ", "dr": "d ɾ", "fl": "f l", "fr": "f ɾ",
    "gl": "ɡ l", "gr": "ɡ ɾ", "pl": "p l", "pr": "p ɾ", "tr": "t ɾ",
}  # fmt: skip
SOFT = {**HARD, "c": "θ", "g": "x", "qu": "k", "gu": "ɡ", "gü": "ɡ w"}
CODAS = {"": "", "n": "n", "s": "s", "r": "ɾ", "l": "l"}
ACCENTS = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú"}
SHORTEST, LONGEST = 2, 4  # syllables
IRREGULAR = 0.3  # share of words whose stress is written, because it is not where the rule has it

Syllable = tuple[str, str, str]  # onset, vowel, coda


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. No word is repeated, and none sounds like another."""
    rng = random.Random(seed)
    by_sound: dict[str, str] = {}
    while len(by_sound) < sum(SIZES.values()):
        word, sound = spoken_word(rng)
        by_sound.setdefault(sound, word)
    fresh = ((word, sound) for sound, word in by_sound.items())
    return {name: [next(fresh) for _ in range(size)] for name, size in SIZES.items()}


def spoken_word(rng: random.Random) -> tuple[str, str]:
    count = rng.randint(SHORTEST, LONGEST)
    parts = [syllable(rng, is_first=place == 0) for place in range(count)]
    for place, (here, following) in enumerate(pairwise(parts)):
        if here[2] and following[0].startswith(here[2]):  # l and l would be read as ll
            parts[place] = (*here[:2], "")
    stressed = rng.randrange(count) if rng.random() < IRREGULAR else stressed_by_rule(parts)
    return read(parts, stressed)


def stressed_by_rule(parts: Sequence[Syllable]) -> int:
    """Return the last syllable but one after a vowel, n or s, and the last one otherwise."""
    return len(parts) - (2 if parts[-1][2] in ("", "n", "s") else 1)


def read(parts: Sequence[Syllable], stressed: int) -> tuple[str, str]:
    """Return a word and its phonemes; ˈ precedes the vowel of the stressed syllable."""
    is_written = stressed != stressed_by_rule(parts)
    letters, phones = [], []
    before = ""
    for place, (onset, vowel, coda) in enumerate(parts):
        letters += [onset, ACCENTS[vowel] if is_written and place == stressed else vowel, coda]
        phones += [sound_of(onset, vowel, before), "ˈ" * (place == stressed) + vowel, CODAS[coda]]
        before = coda or vowel
    return "".join(letters), " ".join(filter(None, phones))


def syllable(rng: random.Random, *, is_first: bool) -> Syllable:
    vowel = rng.choice("aeiou")
    onsets = [onset for onset in (SOFT if vowel in "ei" else HARD) if not (is_first and onset == "rr")]
    onset = "" if is_first and rng.random() < 0.2 else rng.choice(onsets)
    return onset, vowel, rng.choice(["", "", "", *CODAS])


def sound_of(onset: str, vowel: str, before: str) -> str:
    if onset == "r" and before in ("", "n", "l", "s"):
        return "r"  # at the beginning and after these, a single r is rolled
    return {**(SOFT if vowel in "ei" else HARD), "": ""}[onset]
