"""Scores of given text by a language model: log p of each token, in windows that slide over a long text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from dragoman.data.padding import pad
from dragoman.data.pair import Pair
from dragoman.data.prepare import running_text
from dragoman.inference.continuation import TokenLogP
from dragoman.metrics.text_score import TextScore, units
from dragoman.text.specials import BOS, EOS, PAD, UNK
from dragoman.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096  # of the windows that are scored together
PART_LINES = 64  # of running text that are tokenised together, as for training

ScoredTokens = list[tuple[int, float]]  # tokens and their log p


class Sliding(NamedTuple):
    """How far a token may look back. Windows of `context` tokens begin every `stride` tokens.

    Each token is scored once: all of the first window, and the last `stride` of each later one, which have at
    least context − stride tokens before them.
    """

    context: int
    stride: int

    def windows(self, ids: Iterable[int]) -> Iterator[Window]:
        rest = iter(ids)
        seen = list(islice(rest, self.context))
        if seen:
            yield Window(seen, len(seen))
        while new := list(islice(rest, self.stride)):
            seen = [*seen, *new][-self.context :]
            yield Window(seen, len(new))


class Window(NamedTuple):
    ids: Sequence[int]
    scored: int  # tokens at its end


class TextScorer:
    """Scores by a language model, whose every window begins with <s>, as every search does."""

    def __init__(self, token_log_p: TokenLogP, tokenizer: Tokenizer, sliding: Sliding) -> None:
        self.token_log_p = token_log_p
        self.tokenizer = tokenizer
        self.sliding = sliding

    def tokens(self, ids: Iterable[int]) -> Iterator[tuple[int, float]]:
        """Yield each token of a running text and its log p, with the memory of a few windows."""
        windows = self.sliding.windows(ids)
        while some := list(islice(windows, max(1, BATCH_TOKENS // self.sliding.context))):
            for window, log_p in zip(some, self.log_p(some), strict=True):
                yield from zip(window.ids[-window.scored :], log_p, strict=True)

    def lines(self, lines: Iterable[str]) -> Iterator[tuple[str, ScoredTokens]]:
        """Yield each line, and its tokens, </s> included, with their log p; none for a blank line."""
        texts = iter(lines)
        while some := list(islice(texts, PART_LINES)):
            rows = [[*self.tokenizer.encode(line), EOS] if line.strip() else [] for line in some]
            windows = [(n, window) for n, row in enumerate(rows) for window in self.sliding.windows(row)]
            found: list[ScoredTokens] = [[] for _ in rows]
            for part in by_length(windows):
                for (n, window), log_p in zip(part, self.log_p([w for _, w in part]), strict=True):
                    found[n] += zip(window.ids[-window.scored :], log_p, strict=True)
            yield from zip(some, found, strict=True)

    def score_lines(self, lines: Iterable[str]) -> Iterator[TextScore]:
        """Yield the score of each line as a text of its own; blank ones do not count."""
        for line, found in self.lines(lines):
            if found:
                characters, words = units(line)
                yield score_of(found, characters + 1, words + 1)

    def score_running(self, lines: Iterable[str]) -> Iterator[TextScore]:
        """Yield the scores of the parts of one running text, in which a newline is a token.

        Characters and words are those of the whole text, distributed over the parts by their tokens.
        """
        counted = [0, 0]

        def ids() -> Iterator[int]:
            texts = iter(lines)
            while some := list(islice(texts, PART_LINES)):
                for line in some:
                    counted[:] = (a + b + 1 for a, b in zip(counted, units(line), strict=True))
                pairs = [Pair("", line, 0) for line in some]
                yield from self.tokenizer.encode(running_text(pairs, self.tokenizer.kind))

        scored, parts = self.tokens(ids()), []
        while found := list(islice(scored, self.sliding.context)):
            parts.append(score_of(found, 0, 0))
        tokens = sum(part.tokens for part in parts)
        for part in parts:
            characters, words = (count * part.tokens / tokens for count in counted)
            yield part._replace(characters=characters, words=words)

    def log_p(self, windows: Sequence[Window]) -> list[list[float]]:
        """Return log p of the scored tokens of each window."""
        y, keep = pad([window.ids for window in windows])
        y = np.where(keep[:, 1:], y[:, :-1], PAD)  # without </s>
        before = np.concatenate((np.full((len(y), 1), BOS), y[:, :-1]), axis=1)
        return [
            row[len(window.ids) - window.scored : len(window.ids)]
            for row, window in zip(self.token_log_p(before, y).tolist(), windows, strict=True)
        ]


def by_length(windows: Iterable[tuple[int, Window]]) -> Iterator[list[tuple[int, Window]]]:
    """Yield windows of similar length together, the shortest first; those of a line stay in order."""
    part: list[tuple[int, Window]] = []
    for item in sorted(windows, key=lambda item: len(item[1].ids)):
        if part and (len(part) + 1) * len(item[1].ids) > BATCH_TOKENS:
            yield part
            part = []
        part.append(item)
    if part:
        yield part


def score_of(found: ScoredTokens, characters: int, words: int) -> TextScore:
    unknown = sum(token == UNK for token, _ in found)
    return TextScore(-sum(p for _, p in found), len(found), characters, words, unknown)
