"""What is known of an output beside its text: each token's probability, and where the model looked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.inference.result import Token, Words
from dragoman.inference.runtime import Steps
from dragoman.inference.spans import Span, token_spans, word_spans
from dragoman.models.calibration import Calibration
from dragoman.text.pair import TextPair


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


def known(written: Written, steps: Steps, text: TextPair, calibration: Calibration | None) -> Known:
    return Known(details(written, steps, text, calibration), alignment(written, steps, text))


def details(
    written: Written, steps: Steps, text: TextPair, calibration: Calibration | None
) -> tuple[Token, ...]:
    sources = [*token_spans(text.src, written.src[:-1], written.source), None]
    places = None if steps.attention is None else steps.attention.argmax(axis=1)
    nothing = [None] * len(written.tgt)
    sure = calibration.token_confidence(steps.log_p) if calibration else nothing
    facts = zip(steps.log_p, steps.entropy or nothing, sure, spans_with_end(text, written), strict=True)
    return tuple(
        Token(text.tgt.piece(written.tgt[t]), *fact, None if places is None else sources[places[t]])
        for t, fact in enumerate(facts)
    )


def alignment(written: Written, steps: Steps, text: TextPair) -> Words | None:
    """For each word of the output the word of the source it looked at most, its tokens taken together.

    A word that looked at the source's </s> more than at any word has no pair.
    """
    looks = steps.attention
    if looks is None:
        return None
    owner = owners(token_spans(text.src, written.src[:-1], written.source), word_spans(written.source))
    writer = owners(spans_with_end(text, written), word_spans(written.output))
    found = []
    for word in range(len(word_spans(written.output))):
        mine = [t for t, of in enumerate(writer) if of == word]
        weights: dict[int | None, float] = {}
        for weight, of in zip(looks[mine].sum(axis=0).tolist(), [*owner, None], strict=True):
            weights[of] = weights.get(of, 0.0) + weight
        best = max(weights, key=lambda of: weights[of])
        if mine and best is not None:
            found.append((best, word))
    return tuple(found)


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
