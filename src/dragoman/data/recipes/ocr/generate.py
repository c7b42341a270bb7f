"""Pictures of made-up words in capital letters, drawn with noise in varying size, slant and thickness."""

from __future__ import annotations

import random
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dragoman.data.signals.picture import Grey, write_picture

SIZES = {"train": 3_000, "valid": 100, "test": 300}
CONSONANTS, VOWELS = "BCDFGHJKLMNPQRSTVWXZ", "AEIOUY"
FONT = (
    """
.###. ####. .#### ####. ##### ##### .#### #...# ### ..### #...# #.... #...#
#...# #...# #.... #...# #.... #.... #.... #...# .#. ...#. #..#. #.... ##.##
#...# #...# #.... #...# #.... #.... #.... #...# .#. ...#. #.#.. #.... #.#.#
##### ####. #.... #...# ####. ####. #..## ##### .#. ...#. ##... #.... #.#.#
#...# #...# #.... #...# #.... #.... #...# #...# .#. ...#. #.#.. #.... #...#
#...# #...# #.... #...# #.... #.... #...# #...# .#. #..#. #..#. #.... #...#
#...# ####. .#### ####. ##### #.... .###. #...# ### .##.. #...# ##### #...#
""",
    """
#...# .###. ####. .###. ####. .#### ##### #...# #...# #...# #...# #...# #####
##..# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. #...# ....#
##..# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#.
#.#.# #...# ####. #...# ####. .###. ..#.. #...# .#.#. #.#.# ..#.. ..#.. ..#..
#..## #...# #.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#...
#..## #...# #.... #..#. #..#. ....# ..#.. #...# .#.#. ##.## .#.#. ..#.. #....
#...# .###. #.... .##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. #####
""",
)


def letters() -> dict[str, NDArray[np.float64]]:
    """Return the picture of each letter, 1 for ink."""
    glyphs = []
    for block in FONT:
        rows = [line.split(" ") for line in block.strip().split("\n")]
        glyphs += [np.array([[c == "#" for c in row[n]] for row in rows], float) for n in range(len(rows[0]))]
    return dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", glyphs, strict=True))


GLYPHS = letters()


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the paths of pictures and their words. No word is repeated."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < sum(SIZES.values()):
        words[word(rng)] = None
    fresh = iter(words)
    return {
        name: [(f"{name}/{number:04d}.png", next(fresh)) for number in range(size)]
        for name, size in SIZES.items()
    }


def word(rng: random.Random) -> str:
    syllables = [rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(1, 3))]
    return "".join(syllables) + (rng.choice(CONSONANTS) * rng.randint(1, 2) if rng.random() < 0.6 else "")


def write_source(file: Path, text: str) -> None:
    write_picture(file, draw(text, crc32(f"{file.parent.name}/{file.name} {text}".encode())))


def draw(text: str, seed: int) -> Grey:
    """Return a picture 24 pixels high, black on white."""
    rng = np.random.default_rng(seed)
    wide, gap = int(rng.integers(2, 4)), int(rng.integers(2, 4))  # pixels per dot, and between letters
    blank = np.zeros((14, gap))
    parts = [part for c in text for part in (blank, GLYPHS[c].repeat(2, axis=0).repeat(wide, axis=1))]
    top = int(rng.integers(2, 8))
    ink = np.pad(np.concatenate(parts, axis=1), ((top, 10 - top), (8, 8)))
    y, x = np.indices(ink.shape)
    shift = np.round(rng.uniform(-0.25, 0.25) * (12 - y)).astype(int)  # a slant
    ink = ink[y, (x - shift) % ink.shape[1]]
    if rng.random() < 0.5:  # a thicker pen
        ink = np.maximum(ink, np.roll(ink, 1, axis=1))
    ink = rng.uniform(0.5, 1.0) * ink + rng.normal(0.0, rng.uniform(0.02, 0.15), ink.shape)
    grey: Grey = (255 * (1 - ink)).clip(0, 255).astype(np.uint8)
    return grey
