"""Test inputs for an export of other tasks than translation: examples, and all entries of the vocabulary."""

from __future__ import annotations

import os
import random
from itertools import islice
from typing import NamedTuple

import numpy as np

from dragoman.config.data import Corpus
from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.data.padding import SourceRow
from dragoman.data.pair import Pair
from dragoman.data.signals.build import build_signals
from dragoman.errors import DragomanError
from dragoman.export.probe_sentences import ROW, SEED, every_entry
from dragoman.models.bundle import Bundle
from dragoman.tasks.examples import build_examples
from dragoman.tasks.sources import build_reader

EXAMPLES = 64
FRAMES = (4, 150)  # of a random signal

MADE_UP = "of its vocabulary, because its data no longer exists"


class Texts(NamedTuple):
    texts: list[str]
    origin: str  # for messages


class Rows(NamedTuple):
    """What a network that transcribes reads."""

    rows: list[SourceRow]
    origin: str


def sources(bundle: Bundle) -> Texts:
    """Return sources of the validation set, or of the training set, and lines of all words."""
    rows = every_entry(bundle.text.src.size, min(ROW, bundle.longest_source))
    words = [bundle.text.src.decode(row) for row in rows]
    pairs, origin = examples(bundle.config)
    return Texts([*(pair.src for pair in pairs), *words], origin)


def running_texts(bundle: Bundle) -> Texts:
    """Return texts of the validation set, or of the training set; otherwise random ones."""
    pairs, origin = examples(bundle.config)
    texts = [pair.tgt for pair in pairs if pair.tgt.strip()]
    if not texts:
        rows = every_entry(bundle.text.tgt.size, min(ROW, bundle.longest_target))
        texts = [bundle.text.tgt.decode(row) for row in rows[:EXAMPLES]]
    return Texts(texts, origin)


def signals(bundle: Bundle) -> Rows:
    """Return rows of the validation set, or of the training set; otherwise random ones."""
    source, read = bundle.config.data.source, build_reader(bundle.config, bundle.text)
    if isinstance(source, TextSource):
        texts, origin = sources(bundle)
        return Rows([row[: bundle.longest_source] for row in read(texts)], origin)
    pairs, origin = examples(bundle.config)
    try:
        rows: list[SourceRow] = [*read([pair.src for pair in pairs])]
    except DragomanError:
        rows = []
    if rows:
        return Rows(rows, origin)
    random, frames = np.random.default_rng(SEED), build_signals(source).frames
    lengths = random.integers(*FRAMES, EXAMPLES)
    noise = [random.normal(size=(length, frames.features)) for length in lengths]
    scale = 64 if np.dtype(frames.dtype) == np.uint8 else 1
    return Rows([abs(x * scale).astype(frames.dtype) for x in noise], "of random frames")


def examples(config: Config) -> tuple[list[Pair], str]:
    """Return examples and where they are from; none if the files are not there any more."""
    for corpus in (config.data.valid, *config.data.train):
        if corpus and (pairs := read_corpus(config, corpus)):
            return random.Random(SEED).sample(pairs, min(EXAMPLES, len(pairs))), origin_of(corpus)
    return [], MADE_UP


def read_corpus(config: Config, corpus: Corpus) -> list[Pair]:
    try:
        read = build_examples(config).read(corpus.files, lambda _: None, corpus.languages)
        return list(islice(read, 4 * EXAMPLES))
    except (DragomanError, OSError):
        return []


def origin_of(corpus: Corpus) -> str:
    return f"of {os.path.normpath(corpus.files[0])}"
