"""Details of an output: the probability and the attention of each token, and the word alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dragoman.inference.quality.spans import CharSpan, token_spans, word_spans
from dragoman.inference.result import Token, WordAlignment
from dragoman.inference.runtimes.runtime import TokenScores
from dragoman.models.calibration import Calibration
from dragoman.text.tokenizer_pair import TokenizerPair


class OutputAnalysis(NamedTuple):
    """The details of an output; `alignment` is None for a decoder without attention."""

    details: tuple[Token, ...]
    alignment: WordAlignment | None


class SourceAndOutput(NamedTuple):
    """A source and an output: text, and ids as the model reads and writes them, with </s>."""

    source: str
    src: Sequence[int]
    output: str
    tgt: Sequence[int]


def analyse_output(
    written: SourceAndOutput, steps: TokenScores, text: TokenizerPair, calibration: Calibration | None
) -> OutputAnalysis:
    return OutputAnalysis(
        token_details(written, steps, text, calibration), word_alignment(written, steps, text)
    )


def token_details(
    written: SourceAndOutput, steps: TokenScores, text: TokenizerPair, calibration: Calibration | None
) -> tuple[Token, ...]:
    sources = [*token_spans(text.src, written.src[:-1], written.source), None]
    places = None if steps.attention is None else steps.attention.argmax(axis=1)
    nothing = [None] * len(written.tgt)
    confidences = calibration.token_confidence(steps.log_p) if calibration else nothing
    facts = zip(
        steps.log_p, steps.entropy or nothing, confidences, spans_with_end(text, written), strict=True
    )
    return tuple(
        Token(text.tgt.piece(written.tgt[t]), *fact, None if places is None else sources[places[t]])
        for t, fact in enumerate(facts)
    )


def word_alignment(written: SourceAndOutput, steps: TokenScores, text: TokenizerPair) -> WordAlignment | None:
    """Align each output word with the source word that its tokens, taken together, attend to most.

    A word that attends to the source's </s> more than to any word is not aligned.
    """
    attention_matrix = steps.attention
    if attention_matrix is None:
        return None
    owner = word_of_token(token_spans(text.src, written.src[:-1], written.source), word_spans(written.source))
    writer = word_of_token(spans_with_end(text, written), word_spans(written.output))
    found = []
    for word in range(len(word_spans(written.output))):
        mine = [t for t, of in enumerate(writer) if of == word]
        weights: dict[int | None, float] = {}
        for weight, of in zip(attention_matrix[mine].sum(axis=0).tolist(), [*owner, None], strict=True):
            weights[of] = weights.get(of, 0.0) + weight
        best = max(weights, key=lambda of: weights[of])
        if mine and best is not None:
            found.append((best, word))
    return tuple(found)


def spans_with_end(text: TokenizerPair, written: SourceAndOutput) -> list[CharSpan]:
    """Return the spans of all tokens; that of </s> is empty and after the last character."""
    end = len(written.output)
    places = token_spans(text.tgt, written.tgt, written.output)
    return [*places, *[(end, end)] * (len(written.tgt) - len(places))]


def word_of_token(tokens: Sequence[CharSpan], words: Sequence[CharSpan]) -> list[int | None]:
    """Return the index of the word that each token is a part of."""
    return [
        next((number for number, word in enumerate(words) if token[0] < word[1] and token[1] > word[0]), None)
        for token in tokens
    ]
