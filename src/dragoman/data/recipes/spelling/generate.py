"""Misspelt words → the words: errors of fingers and errors of the ear, made by rules."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

WORDS = Path(__file__).with_name("words.txt")
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
SIZES = {"train": 20_000, "valid": 300, "test": 1_000}
TWO = 0.15  # share of words with two errors
# What is spelled otherwise than it sounds.
SOUNDS = (
    ("ie", "ei"), ("ei", "ie"), ("ance", "ence"), ("ence", "ance"), ("able", "ible"), ("ible", "able"),
    ("ph", "f"), ("gh", ""), ("tion", "sion"), ("ss", "s"), ("cc", "c"), ("mm", "m"), ("ll", "l"),
    ("rr", "r"), ("ough", "uff"), ("ary", "ery"), ("ory", "ery"), ("our", "or"), ("ea", "ee"), ("ou", "u"),
    ("kn", "n"), ("ce", "se"), ("ci", "si"), ("er", "or"), ("or", "er"), ("ise", "ize"), ("que", "ke"),
    ("sc", "s"),
)  # fmt: skip

Error = Callable[[str, random.Random], str]


def neighbours(letter: str) -> str:
    """The letters beside it on the keyboard, or itself."""
    row = next((row for row in ROWS if letter in row), letter)
    place = row.index(letter)
    return row[max(0, place - 1) : place] + row[place + 1 : place + 2] or letter


def omit(word: str, rng: random.Random) -> str:
    place = rng.randrange(1, len(word))
    return word[:place] + word[place + 1 :]


def double(word: str, rng: random.Random) -> str:
    place = rng.randrange(len(word))
    return word[:place] + word[place] + word[place:]


def swap(word: str, rng: random.Random) -> str:
    place = rng.randrange(len(word) - 1)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def slip(word: str, rng: random.Random) -> str:
    place = rng.randrange(len(word))
    return word[:place] + rng.choice(neighbours(word[place])) + word[place + 1 :]


def mishear(word: str, rng: random.Random) -> str:
    """Write a part of it as another one that sounds alike."""
    known = [(part, other) for part, other in SOUNDS if part in word]
    return word.replace(*rng.choice(known), 1) if known else omit(word, rng)


ERRORS: tuple[Error, ...] = (omit, double, swap, slip, mishear, mishear)


def misspell(word: str, rng: random.Random) -> str:
    for _ in range(2 if rng.random() < TWO else 1):
        word = rng.choice(ERRORS)(word, rng)
    return word


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. No misspelling occurs twice, is a word, or was made from two words."""
    rng = random.Random(seed)
    known = WORDS.read_text(encoding="utf-8").split()
    meant: dict[str, set[str]] = {}
    while len(meant) < 1.1 * sum(SIZES.values()):
        word = rng.choice(known)
        meant.setdefault(misspell(word, rng), set()).add(word)
    right = set(known)
    fresh = ((wrong, of.pop()) for wrong, of in meant.items() if len(of) == 1 and wrong not in right)
    return {name: [next(fresh) for _ in range(size)] for name, size in SIZES.items()}
