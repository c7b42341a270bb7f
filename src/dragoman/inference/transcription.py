"""Transcriptions: the texts that CTC reads from frames, with the frames and the confidence of each character.

Only numpy is used, so that exported models are decoded by the same code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from dragoman.inference.quality.spans import token_ends
from dragoman.inference.result import Alternative
from dragoman.search.ctc.align import align
from dragoman.search.ctc.best_path import Floats, best_path
from dragoman.search.ctc.prefix_beam import Fusion, prefix_beam
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.tokenizer import Tokenizer


class Character(NamedTuple):
    """A character of a transcription, or an entry of the vocabulary with several.

    `start` and `end` are frames, `end` is excluded; `confidence` is the mean of its probability over them.
    """

    text: str
    start: int
    end: int
    confidence: float


class Transcription(NamedTuple):
    """The text of one source.

    `score` is log p(text | source), with that of a language model if one was fused; `confidence` is
    p(text | source), over all paths of the search.
    """

    text: str
    score: float
    confidence: float
    characters: tuple[Character, ...]
    tokens: tuple[int, ...]
    alternatives: tuple[Alternative, ...] = ()

    def asdict(self) -> dict[str, Any]:
        """Return the fields as `dragoman run --json` prints them."""
        fields: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "confidence": self.confidence,
            "characters": [character._asdict() for character in self.characters],
        }
        if self.alternatives:
            fields["alternatives"] = [{"text": a.text, "score": a.score} for a in self.alternatives]
        return fields

    def __repr__(self) -> str:
        return f"Transcription({self.text!r}, confidence={self.confidence:.2f})"


EMPTY = Transcription("", 0.0, 1.0, (), ())


class CTCSearch(NamedTuple):
    """Prefix beam search, or the best path if `size` is 0."""

    size: int
    fusion: Fusion | None = None

    def __call__(self, log_y: Floats) -> list[Hypothesis]:
        """Return the hypotheses, best first."""
        if not self.size:
            return [best_path(log_y)]
        return prefix_beam(log_y, self.size, nbest=self.size, fusion=self.fusion)


def transcription(log_y: Floats, tokenizer: Tokenizer, found: Sequence[Hypothesis]) -> Transcription:
    """Return the transcription of the frames with log y of [S V] from its hypotheses, best first."""
    best, texts = found[0], [tokenizer.decode(h.tokens) for h in found]
    alternatives = [Alternative(text, h.score, h.tokens) for text, h in zip(texts, found, strict=True)]
    return Transcription(
        texts[0],
        best.score,
        math.exp(best.log_p),
        tuple(aligned(log_y, tokenizer, best.tokens, texts[0])),
        best.tokens,
        tuple(alternatives) if len(found) > 1 else (),
    )


def aligned(log_y: Floats, tokenizer: Tokenizer, tokens: Sequence[int], text: str) -> list[Character]:
    """Return where a text was read: a forced alignment, of a given text or of the one that was found."""
    ends = token_ends(tokenizer, tokens, text)
    labels = align(log_y, tokens)
    return [
        Character(text[a:b], label.start, label.end, label.confidence)
        for (a, b), label in zip(pairwise([0, *ends]), labels, strict=True)
    ]
