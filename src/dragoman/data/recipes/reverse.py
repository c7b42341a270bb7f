"""A word → its letters in reverse order."""

from __future__ import annotations

import random

from dragoman.data.recipes.recipe import Recipe

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {"train": 10_000, "valid": 200, "test": 500}

SETTINGS = """\
# Reverse the letters of a word: the smallest task that shows attention at work.
# Settings that are not listed here have their defaults; a run writes all its settings to its settings.toml.

[data]
train = "train.tsv"       # source, a tab, target; one pair per line
valid = "valid.tsv"
test = "test.tsv"

[text]
kind = "char"             # tokens are characters

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
# reverse: reverse the letters of a word

    banana → ananab

10,000 random words of 3 to 8 letters for training, 200 for validation, 500 for test; no word is repeated.
The first output letter is the last input letter, and so on: a task made for attention, small enough to train
in seconds and easy to inspect.

    dragoman train FOLDER
    dragoman run FOLDER dragoman
    dragoman score FOLDER FOLDER/test.tsv
"""


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. No word is repeated, within a split or across splits."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < sum(SIZES.values()):
        words["".join(rng.choices(LETTERS, k=rng.randint(3, 8)))] = None
    fresh = iter(words)
    return {name: [backwards(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def backwards(word: str) -> tuple[str, str]:
    return word, word[::-1]


RECIPE = Recipe(
    "reverse the letters of a word: learned in seconds, for a first try", SETTINGS, README, splits
)
