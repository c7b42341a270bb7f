"""What tagging and classification have in common: lines of words become padded arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.config.root import Config
from dragoman.data.padding import IdRow, pad
from dragoman.search.batch_invariance import invariant_batches, pad_batch, padded_length
from dragoman.tasks.examples import reads_words
from dragoman.text.running_words import words_of
from dragoman.text.tokenizer import Row
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.spelled import is_word, lengths, spelled_rows

BATCH_LINES = 64

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def pad_lines(config: Config, rows: Sequence[IdRow], length: int | None = None) -> tuple[Ints, Bools]:
    """Return x₁ … x_n </s> and its mask; a spelled word is a row of its own."""
    return spelled_rows(rows, length) if is_spelled(config) else pad(rows, length)


def is_spelled(config: Config) -> bool:
    return config.text.src_units.kind == "spelled"


def as_read(config: Config, text: str) -> str:
    """Return a line as in training."""
    return " ".join(words_of(text)) if config.task == "tag" or reads_words(config) else text


def longest_line(config: Config) -> int:
    """Return how many tokens of a line are read, without </s>: as many as the encoder has positions."""
    return config.data.max_length if config.model.encoder.longest is None else config.model.longest_source


def cut(config: Config, row: Row) -> Row:
    """Return what is read of a line: of spelled words, whole ones."""
    most = longest_line(config)
    if not is_spelled(config):
        return row[:most]
    starts = np.flatnonzero(is_word(row))
    return row[: starts[most]] if len(starts) > most else row


class Lines(NamedTuple):
    """Lines that are answered together. `src` may have more rows, which repeat the last line."""

    indices: list[int]
    src: Ints  # [B S], or [B S C] if words are spelled
    keep: Bools  # [B S]


class LineBatches:
    """The lines of a call as batches, in which the answer to a line does not depend on the others."""

    def __init__(self, config: Config, text: TokenizerPair) -> None:
        self.config = config
        self.text = text

    def __call__(self, texts: Sequence[str]) -> Iterator[Lines]:
        """Yield all lines with words, by their length."""
        rows = [
            cut(self.config, row) for row in self.text.read([as_read(self.config, text) for text in texts])
        ]
        sizes = lengths(rows, self.text.src.kind)
        for indices in invariant_batches(sizes, BATCH_LINES):
            # the positions of the model
            length = min(padded_length(sizes[indices[0]]), longest_line(self.config) + 1)
            yield Lines(indices, *pad_lines(self.config, pad_batch([rows[i] for i in indices]), length))
