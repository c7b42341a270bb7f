"""Test inputs for an export: validation sentences, and random lines that cover the vocabularies."""

from __future__ import annotations

import os
import random
from itertools import islice
from typing import NamedTuple

from dragoman.config.data import Corpus
from dragoman.config.root import Config
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.errors import DragomanError
from dragoman.models.bundle import Bundle
from dragoman.text.specials import EOS, UNK

SENTENCES = 64
ROW = 24  # tokens of a random line
SEED = 5
RANDOM = "of random tokens, because its data no longer exists"  # an origin

Row = list[int]


class Sentences(NamedTuple):
    rows: list[Row]
    origin: str  # for messages


def sentences(bundle: Bundle) -> Sentences:
    """Return sources of the validation set, else of the training set, else lines of random tokens."""
    for corpus in (bundle.config.data.valid, *bundle.config.data.train):
        if corpus and (rows := _read(bundle, corpus)):
            return Sentences(rows, f"of {os.path.normpath(corpus.files[0])}")
    rng = random.Random(SEED)
    tokens = range(EOS + 1, bundle.text.src.size)
    longest = _longest(bundle.config)
    rows = [rng.choices(tokens, k=rng.randint(1, min(ROW, longest))) for _ in range(SENTENCES)]
    return Sentences(rows, RANDOM)


def _read(bundle: Bundle, corpus: Corpus) -> list[Row]:
    try:
        texts = [
            pair.src for pair in islice(open_pairs(corpus.files, languages=corpus.languages), 4 * SENTENCES)
        ]
    except (DragomanError, OSError):
        return []
    rows = [bundle.text.src.encode(text) for text in texts if text.strip()]
    return [row for row in rows if 0 < len(row) <= _longest(bundle.config)][:SENTENCES]


def every_token(bundle: Bundle) -> list[tuple[Row, Row]]:
    """Return random pairs that contain every source and target token, so that every weight is tested."""
    length = min(ROW, _longest(bundle.config), bundle.config.model.longest_target)
    sources, targets = (every_entry(size, length) for size in (bundle.text.src.size, bundle.text.tgt.size))
    count = max(len(sources), len(targets))
    return [(sources[k % len(sources)], targets[k % len(targets)]) for k in range(count)]


def every_entry(size: int, length: int) -> list[Row]:
    """Return rows that contain every token of a vocabulary once, in a random order."""
    tokens = [UNK, *range(EOS + 1, size)]
    random.Random(SEED).shuffle(tokens)
    return [tokens[k : k + length] for k in range(0, len(tokens), length)]


def _longest(config: Config) -> int:
    return config.model.longest_source
