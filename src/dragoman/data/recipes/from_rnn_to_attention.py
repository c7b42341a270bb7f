"""A word → its letters from the last to the first: long words, to show what one vector cannot hold."""

from __future__ import annotations

import random

from dragoman.data.recipes.recipe import Recipe
from dragoman.data.recipes.reverse import LETTERS, backwards

SIZES = {"train": 20_000, "valid": 200, "test": 600}
SHORTEST, LONGEST = 4, 24

SETTINGS = """\
# Words backwards, of 4 to 24 letters. The models of the lesson stand beside this file, each with its changes:
# NAME.toml is this file with another [model].

[data]
train = "train.tsv"
valid = "valid.tsv"
test = "test.tsv"

[text]
kind = "char"

[model]
MODEL
[training]
batch_tokens = 2048
lr = 3e-3
warmup = 50
schedule = "cosine"
label_smoothing = 0.0
micro_batches = 1
valid_metric = "exact_match"
average = 1

[search]
kind = "greedy"
max_length = 40
"""

_TWO = """\
preset = "{preset}"
encoder = {{ width = 128, layers = 1, embedding = 64, dropout = 0.0{encoder} }}
decoder = {{ width = 128, layers = 1, embedding = 64, dropout = 0.0{decoder} }}
"""
_CONV = """\
preset = "conv-small"
encoder = { width = 128, layers = 2, embedding = 64, dropout = 0.0 }
decoder = { width = 128, layers = 2, embedding = 64, dropout = 0.0 }
"""
_TRANSFORMER = """\
preset = "transformer-tiny"
encoder = { width = 64, layers = 1, heads = 4, ffn = 128, dropout = 0.0 }
decoder = { width = 64, layers = 1, heads = 4, ffn = 128, dropout = 0.0 }
"""

# In the order in which they were found.
MODELS = {
    "elman": _TWO.format(preset="elman", encoder="", decoder=""),
    "cho2014": _TWO.format(preset="cho2014", encoder="", decoder=""),
    "sutskever2014": _TWO.format(preset="sutskever2014", encoder="", decoder=""),
    "bahdanau2015": _TWO.format(preset="bahdanau2015", encoder="", decoder=""),
    "luong2015": _TWO.format(preset="luong2015", encoder="", decoder=""),
    "convs2s2017": _CONV,
    "transformer": _TRANSFORMER,
}

README = """\
# From the RNN to attention, in one sitting

    dragomanic → cinamogard

20,000 made-up words of 4 to 24 letters to learn from, 200 to watch, 600 to test. A network that has to put
the whole word into one vector before it writes forgets long words; one that may look back does not. That is
the experiment that made attention famous, small enough for this machine.

    dragoman new from-rnn-to-attention --budget 10m

trains all models of the lesson in this time, each its share of it, and compares them by length. Each is a
settings file here, so that one can be trained alone, or changed:

    dragoman train FOLDER -c FOLDER/bahdanau2015.toml -o FOLDER/bahdanau2015
    dragoman score FOLDER/bahdanau2015 FOLDER/test.tsv
"""


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """All lengths are as frequent; no word stands twice."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < sum(SIZES.values()):
        length = SHORTEST + len(words) % (LONGEST - SHORTEST + 1)
        words["".join(rng.choices(LETTERS, k=length))] = None
    fresh = iter(words)
    return {name: [backwards(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def settings(model: str) -> str:
    return SETTINGS.replace("MODEL", model)


RECIPE = Recipe(
    "seven networks learn to write words backwards, within a time: what attention is for",
    settings(MODELS["transformer"]),
    README,
    splits,
    {name: settings(model) for name, model in MODELS.items()},
)
