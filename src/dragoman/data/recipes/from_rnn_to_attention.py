"""Digits → their names, one after another: what one vector cannot hold, and attention need not."""

from __future__ import annotations

import random

from dragoman.data.recipes.recipe import Recipe

SIZES = {"train": 10_080, "valid": 210, "test": 630}
SHORTEST, LONGEST = 3, 23
DIGITS = "0123456789"
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

SETTINGS = """\
# Digits read aloud, 3 to 23 of them. The models of the lesson stand beside this file, each with its changes:
# NAME.toml is this file with another [model].

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
_BACKWARDS = ", reversed_source = true"  # a help to those without attention (Sutskever et al. 2014)
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
    "elman": _TWO.format(preset="elman", backwards=_BACKWARDS),
    "cho2014": _TWO.format(preset="cho2014", backwards=_BACKWARDS),
    "sutskever2014": _TWO.format(preset="sutskever2014", backwards=_BACKWARDS),
    "bahdanau2015": _TWO.format(preset="bahdanau2015", backwards=""),
    "luong2015": _TWO.format(preset="luong2015", backwards=""),
    "convs2s2017": _CONV,
    "transformer": _TRANSFORMER,
}
RATES = {"elman": "1e-3", "bahdanau2015": "2e-3", "convs2s2017": "2e-3"}  # of the others 5e-3

README = """\
# From the RNN to attention, in one sitting

    3 1 4 1 5 → three one four one five

10,080 lines of 3 to 23 digits to learn from, 210 to watch, 630 to test. A network that has to put all
digits into one vector before it writes the first word (elman, cho2014, sutskever2014) gets short lines
right and loses its way in long ones. One that attends to each digit (bahdanau2015, luong2015, convs2s2017,
transformer) does not care how many there are. That is the experiment that made attention famous, small
enough for this machine.

    dragoman new from-rnn-to-attention --train

trains the models of the lesson one after another, 600 updates each, and shows the share of words that are
right, by length: as a table, and as a picture in comparison.svg. Each model is a settings file, so that one
can be trained alone, or changed:

    dragoman train FOLDER -c FOLDER/bahdanau2015.toml -o FOLDER/bahdanau2015
    dragoman score FOLDER/bahdanau2015 FOLDER/test.tsv
"""


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """All lengths are as frequent; no line comes twice."""
    rng = random.Random(seed)
    lines: dict[str, None] = {}
    while len(lines) < sum(SIZES.values()):
        length = SHORTEST + len(lines) % (LONGEST - SHORTEST + 1)
        lines["".join(rng.choices(DIGITS, k=length))] = None
    fresh = iter(lines)
    return {name: [aloud(next(fresh)) for _ in range(size)] for name, size in SIZES.items()}


def aloud(line: str) -> tuple[str, str]:
    return " ".join(line), " ".join(NAMES[int(digit)] for digit in line)


def settings(name: str) -> str:
    return SETTINGS.replace("MODEL", MODELS[name]).replace("RATE", RATES.get(name, "5e-3"))


RECIPE = Recipe(
    "seven networks learn to read digits aloud: what attention is for, in ten minutes",
    settings("transformer"),
    README,
    splits,
    {name: settings(name) for name in MODELS},
)
