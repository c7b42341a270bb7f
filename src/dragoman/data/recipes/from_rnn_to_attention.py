"""Digits → their names: a task on which attention outperforms a single source vector."""

from __future__ import annotations

import random

from dragoman.data.recipes.recipe import Recipe

SIZES = {"train": 10_080, "valid": 210, "test": 630}
SHORTEST, LONGEST = 3, 23
DIGITS = "0123456789"
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

SETTINGS = """\
# Digits spelled as words, 3 to 23 per line. This folder has the settings of all models of the lesson:
# NAME.toml is this file with another [model] and learning rate.

[data]
train = "train.tsv"
valid = "valid.tsv"
test = "test.tsv"

[text]
kind = "word"

[model]
MODEL
[training]
updates = 600
batch_tokens = 1024
lr = RATE
label_smoothing = 0.0
micro_batches = 1
valid_decode = 21
valid_metric = "loss"
average = 1

[search]
kind = "greedy"
max_length = 40
guard = false
"""

_TWO = """\
preset = "{preset}"
encoder = {{ width = 128, layers = 1, embedding = 64, dropout = 0.0{backwards} }}
decoder = {{ width = 128, layers = 1, embedding = 64, dropout = 0.0 }}
"""
_REVERSED = ", reversed_source = true"  # helps models without attention (Sutskever et al. 2014)
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

# In the order of publication.
MODELS = {
    "elman": _TWO.format(preset="elman", backwards=_REVERSED),
    "cho2014": _TWO.format(preset="cho2014", backwards=_REVERSED),
    "sutskever2014": _TWO.format(preset="sutskever2014", backwards=_REVERSED),
    "bahdanau2015": _TWO.format(preset="bahdanau2015", backwards=""),
    "luong2015": _TWO.format(preset="luong2015", backwards=""),
    "convs2s2017": _CONV,
    "transformer": _TRANSFORMER,
}
RATES = {"elman": "1e-3", "bahdanau2015": "2e-3", "convs2s2017": "2e-3"}  # 5e-3 for the others

README = """\
# From the RNN to attention

    3 1 4 1 5 → three one four one five

10,080 lines of 3 to 23 digits for training, 210 for validation, 630 for test. A network that encodes all
digits in one vector before it writes the first word (elman, cho2014, sutskever2014) gets short lines right
and fails on long ones. A network that attends to each digit (bahdanau2015, luong2015, convs2s2017,
transformer) is right at any length. This is the experiment that made attention famous, small enough for a
laptop.

    dragoman new from-rnn-to-attention --train

trains the models of the lesson one after another, 600 updates each, and shows the share of correct words by
length, as a table and as a chart in comparison.svg. Each model has a settings file, so that you can change it
or train it alone:

    dragoman train FOLDER -c FOLDER/bahdanau2015.toml -o FOLDER/bahdanau2015
    dragoman score FOLDER/bahdanau2015 FOLDER/test.tsv
"""


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. All lengths are equally frequent, and no line is repeated."""
    rng = random.Random(seed)
    lines: dict[str, None] = {}
    while len(lines) < sum(SIZES.values()):
        length = SHORTEST + len(lines) % (LONGEST - SHORTEST + 1)
        lines["".join(rng.choices(DIGITS, k=length))] = None
    fresh = iter(lines)
    return {name: [spelled_out(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def spelled_out(line: str) -> tuple[str, str]:
    return " ".join(line), " ".join(NAMES[int(digit)] for digit in line)


def settings(name: str) -> str:
    return SETTINGS.replace("MODEL", MODELS[name]).replace("RATE", RATES.get(name, "5e-3"))


RECIPE = Recipe(
    "seven networks learn to spell out digits: why attention helps, in ten minutes",
    settings("transformer"),
    README,
    splits,
    {name: settings(name) for name in MODELS},
)
