"""What is known of an output beside its text: each token's probability, and where the model looked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.inference.spans import Span, token_spans, word_spans
from dragoman.models.calibration import Calibration
from dragoman.search.forced import Forced
from dragoman.shapes import Float, Tensor
from dragoman.text.pair import TextPair

Words = tuple[tuple[int, int], ...]  # (number of the source's word, number of the output's word), from 0


class Token(NamedTuple):
    """One token of an output; the last one is </s>, where the output ended by itself.

    `entropy` in nats is how undecided the model was; `confidence` is None before a calibration. `at` is where
    it stands in the output and `source` what the model looked at most, None where that is the source's </s>
    or where it looks nowhere: spans in characters.
    """

    piece: str
    log_p: float
    entropy: float
    confidence: float | None
    at: Span
    source: Span | None


class Known(NamedTuple):
    """`alignment` is None of a decoder that looks nowhere."""

    details: tuple[Token, ...]
    alignment: Words | None


class Written(NamedTuple):
    """A source and an output: text, and ids as the model reads and writes them, with </s>."""

    source: str
    src: Sequence[int]
    output: str
    tgt: Sequence[int]


def details(
    written: Written, row: int, seen: Forced, text: TextPair, calibration: Calibration | None
) -> tuple[Token, ...]:
    """The tokens of the output in this row of a forced decoding."""
    sources = [*token_spans(text.src, written.src[:-1], written.source), None]
    looks = looked_at(written, row, seen)
    places = [] if looks is None else looks.argmax(dim=1).tolist()
    log_p, entropy = (x[row, : len(written.tgt)].tolist() for x in (seen.log_p, seen.entropy))
    sure = calibration.token_confidence(log_p) if calibration else [None for _ in log_p]
    known = zip(log_p, entropy, sure, spans_with_end(text, written), strict=True)
    return tuple(
        Token(text.tgt.piece(written.tgt[t]), *facts, sources[places[t]] if places else None)
        for t, facts in enumerate(known)
    )


def alignment(written: Written, row: int, seen: Forced, text: TextPair) -> Words | None:
    """For each word of the output the word of the source it looked at most, its tokens taken together.

    A word that looked at the source's </s> more than at any word has no pair.
    """
    looks = looked_at(written, row, seen)
    if looks is None:
        return None
    owner = owners(token_spans(text.src, written.src[:-1], written.source), word_spans(written.source))
    writer = owners(spans_with_end(text, written), word_spans(written.output))
    found = []
    for word in range(len(word_spans(written.output))):
        mine = [t for t, of in enumerate(writer) if of == word]
        weights: dict[int | None, float] = {}
        for weight, of in zip(looks[mine].sum(dim=0).tolist(), [*owner, None], strict=True):
            weights[of] = weights.get(of, 0.0) + weight
        best = max(weights, key=lambda of: weights[of])
        if mine and best is not None:
            found.append((best, word))
    return tuple(found)


def looked_at(written: Written, row: int, seen: Forced) -> Float[Tensor, "T S"] | None:
    if seen.attention is None:
        return None
    return seen.attention[row, : len(written.tgt), : len(written.src)]


def spans_with_end(text: TextPair, written: Written) -> list[Span]:
    """Of all tokens; </s> stands behind the last character."""
    end = len(written.output)
    places = token_spans(text.tgt, written.tgt, written.output)
    return [*places, *[(end, end)] * (len(written.tgt) - len(places))]


def owners(tokens: Sequence[Span], words: Sequence[Span]) -> list[int | None]:
    """The word that each token is a part of."""
    return [
        next((number for number, word in enumerate(words) if token[0] < word[1] and token[1] > word[0]), None)
        for token in tokens
    ]
