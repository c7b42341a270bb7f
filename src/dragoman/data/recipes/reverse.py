"""A word → its letters from the last to the first."""

from __future__ import annotations

import random

from dragoman.data.recipes.recipe import Recipe

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {"train": 10_000, "valid": 200, "test": 500}

SETTINGS = """\
# Reverse the letters of a word: the smallest task on which attention can be watched at work.
# Every setting not written here has its default; a run writes all of them to its own settings.toml.

[data]
train = "train.tsv"       # source, a tab, target; one pair a line
valid = "valid.tsv"
test = "test.tsv"

[text]
kind = "char"             # the model reads and writes letter by letter

[model]
encoder = { kind = "transformer", layers = 1, width = 64, heads = 4, ffn = 128, dropout = 0.0 }
decoder = { kind = "transformer", layers = 1, width = 64, heads = 4, ffn = 128, dropout = 0.0 }

[training]
updates = 500
batch_tokens = 1024
lr = 5e-3
warmup = 50
schedule = "cosine"
micro_batches = 1
threads = 1
checkpoint_every = 250
validate_every = 250
valid_metric = "exact_match"
average = 1

[search]
kind = "greedy"
max_length = 16
"""

README = """\
# reverse: a word backwards

    banana → ananab

10,000 made-up words of 3 to 8 letters to learn from, 200 to watch, 500 to test; no word stands twice.
The first letter written needs the last one read, and so on: a task that nothing but attention solves,
small enough to learn in seconds and to follow with the eye.

    dragoman train FOLDER
    dragoman run FOLDER dragoman
    dragoman score FOLDER FOLDER/test.tsv
"""


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """No word stands twice, in one split or in two."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < sum(SIZES.values()):
        words["".join(rng.choices(LETTERS, k=rng.randint(3, 8)))] = None
    fresh = iter(words)
    return {name: [backwards(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def backwards(word: str) -> tuple[str, str]:
    return word, word[::-1]


RECIPE = Recipe(
    "reverse the letters of a word: learned in seconds, for a first look", SETTINGS, README, splits
)
