"""Dates in ten languages → ISO dates."""

from __future__ import annotations

import random
from datetime import date, timedelta

from dragoman.data.recipes.calendars import CALENDARS, write
from dragoman.data.recipes.recipe import Recipe

FIRST, LAST = date(1900, 1, 1), date(2100, 12, 31)
FORMS = tuple((language, form) for language, calendar in CALENDARS.items() for form in calendar.forms)
SIZES = {"train": 20_000, "valid": 500, "test": 1_000}

SETTINGS = """\
# Settings of this task. A line is  key = value  in a [section]; what follows # is for you alone.
# What is not written here has its default. A run writes every setting it used to its own settings.toml.
# To try another value once, name it on the command line:  dragoman train dates training.updates=500

[data]
train = "train.tsv"         # a date as people write it, a tab, the same date as 1987-03-03
valid = "valid.tsv"         # watched while training, never learned from
test = "test.tsv"           # kept for the end: dragoman score

[text]
kind = "char"               # read and write letter by letter; "bpe" would learn pieces of words
joint = true                # one alphabet for both sides

[model]
# The encoder reads the source, the decoder writes the target and looks back at what was read.
# dropout makes a model forget at random so that it cannot learn by heart; here it has no need to.
encoder = { kind = "transformer", layers = 2, width = 96, heads = 4, ffn = 192, dropout = 0.0 }
decoder = { kind = "transformer", layers = 2, width = 96, heads = 4, ffn = 192, dropout = 0.0 }

[training]
updates = 1000              # how often the weights change
batch_tokens = 2048         # letters read for one update, padding counted: about 100 dates
precision = "fp32"          # so small a model gains nothing from shorter numbers
label_smoothing = 0.0       # a date has one right answer, so the model may be sure of it
lr = 3e-3                   # the learning rate: how far the weights move, at most
warmup = 100                # updates in which it rises from zero; a cold start with big steps goes astray
schedule = "cosine"         # then it falls along a cosine, to zero at the last update
checkpoint_every = 250      # Ctrl-C saves too, and the same command resumes
validate_every = 250
valid_decode = 100          # dates of valid.tsv that are written out at each validation
valid_metric = "exact_match"  # a date is right or wrong; there is no nearly
average = 1                 # take the best weights as they are; 5 would average the last five saved
seed = 1                    # another number, another beginning; the same number, the same model

[search]
kind = "greedy"             # at each step the likeliest letter; "beam" keeps several drafts
max_length = 16             # an ISO date has 10 letters
"""

README = """\
# dates: however a date is written, say it in ISO

    the 3rd of March 1987          → 1987-03-03
    Dienstag, 3. März 1987         → 1987-03-03
    le mardi 3 mars 1987           → 1987-03-03
    3 de marzo de 1987             → 1987-03-03
    1987年3月3日                    → 1987-03-03

Ten languages (Chinese, Dutch, English, French, German, Italian, Japanese, Polish, Portuguese, Spanish), FORMS
ways of writing, the years 1900 to 2100, some dates in capitals and some without any. Forms that mean
two days (3/4/1987) or two centuries (3 March 87) are left out, so every date has one right answer.

| file | pairs | |
|---|---|---|
| train.tsv | 20,000 | to learn from |
| valid.tsv | 500 | to watch while training |
| test.tsv | 1,000 | to measure at the end |

Each day stands in one of the three files only, and once. So no date of the test was seen in training,
in any language: a model that learned by heart would score 0.

    dragoman train FOLDER
    dragoman run FOLDER "le 3 mars 1987"
    dragoman score FOLDER FOLDER/test.tsv

Expect about a minute on two CPU cores, and 99 of 100 test dates exactly right.

Then change a line of dragoman.toml and see what it does: one layer instead of two, `kind = "rnn"`,
dropout = 0.3, a tenth of the updates. Or ask for what it never learned: "3 mars 87", "31 February 2001",
"3. marts 1987" (Danish).

The data is made by a program from the calendar and is free of rights.
"""


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Each day stands in one split only and once, so a test date was never seen in any language."""
    rng = random.Random(seed)
    numbers = iter(rng.sample(range((LAST - FIRST).days + 1), sum(SIZES.values())))
    return {
        name: [pair(FIRST + timedelta(days=next(numbers)), rng) for _ in range(size)]
        for name, size in SIZES.items()
    }


def pair(day: date, rng: random.Random) -> tuple[str, str]:
    language, form = rng.choice(FORMS)
    text = write(day, language, form)
    dice = rng.random()
    text = text.lower() if dice < 0.1 else text.upper() if dice < 0.2 else text
    return text, day.isoformat()


RECIPE = Recipe(
    "dates written in ten languages → 1987-03-03: learned in about a minute on a laptop",
    SETTINGS,
    README.replace("FORMS", str(len(FORMS))),
    splits,
)
