"""Spans, tokens and alignments: what an output says about itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.text import TextConfig
from dragoman.inference.quality.spans import token_spans, word_spans
from dragoman.inference.quality.token_details import SourceAndOutput, token_details, word_alignment
from dragoman.inference.runtimes.runtime import TokenScores
from dragoman.text.build import learn
from dragoman.text.specials import EOS
from dragoman.text.tokenizer_pair import TokenizerPair

LINES = ["the cat sat on the mat", "a dog and a cat", "Schifffahrt über die Donau", "日本語 を 話す"] * 5


def pair(kind: str, **options: object) -> TokenizerPair:
    size = {"bpe": 320, "unigram": 310}.get(kind, 100)
    return learn(TextConfig(kind=kind, size=size, **options), zip(LINES, LINES, strict=True))


PAIRS = {kind: pair(kind) for kind in ("bpe", "unigram", "word", "char", "byte")}
TEXTS = st.one_of(
    st.sampled_from(LINES),
    st.text(alphabet="abct hesü日本 ."),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r")),
)


@pytest.mark.parametrize("kind", PAIRS)
@settings(max_examples=60)
@given(text=TEXTS)
def test_spans_tile_the_text_without_its_spaces(kind: str, text: str) -> None:
    tokenizer = PAIRS[kind].src
    ids = tokenizer.encode(text)
    spans = token_spans(tokenizer, ids, text)
    assert len(spans) == len(ids)
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert end <= start
        assert not text[end:start].strip()
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())


def test_spans_of_words_and_pieces_by_hand() -> None:
    words = PAIRS["word"].src
    assert token_spans(words, words.encode("the zebra  sat"), "the zebra  sat") == [
        (0, 3),
        (4, 9),
        (10, 10),
        (11, 14),
    ]
    chars = PAIRS["char"].src
    assert token_spans(chars, chars.encode("a ß"), "a ß") == [(0, 1), (2, 2), (2, 3)]
    bytewise = PAIRS["byte"].src
    assert token_spans(bytewise, bytewise.encode("ü."), "ü.") == [(0, 0), (0, 1), (1, 2)]
    assert word_spans(" a  bc ") == [(1, 2), (4, 6)]


def written(text: TokenizerPair, source: str, output: str) -> SourceAndOutput:
    return SourceAndOutput(source, [*text.src.encode(source), EOS], output, [*text.tgt.encode(output), EOS])


def looking(places: list[int], S: int) -> TokenScores:
    """An output whose token t looked at the source's token places[t]."""
    T = len(places)
    attention = np.full((T, S), 0.01, np.float32)
    attention[range(T), places] = 0.9
    return TokenScores([0.0] * T, [1.0] * T, attention)


def test_tokens_know_what_they_looked_at() -> None:
    text = PAIRS["word"]
    tokens = token_details(written(text, "the dog sat", "a cat"), looking([1, 0, 3], 4), text, None)
    assert [token.piece for token in tokens] == ["a", "cat", "</s>"]
    assert [token.at for token in tokens] == [(0, 1), (2, 5), (5, 5)]
    assert [token.source for token in tokens] == [(4, 7), (0, 3), None]
    assert {(token.log_p, token.entropy, token.confidence) for token in tokens} == {(0.0, 1.0, None)}


def test_words_are_paired_by_all_their_tokens_and_not_with_the_end() -> None:
    text = PAIRS["char"]
    both = written(text, "ab cd", "x yy z")
    # x → a · space → end · y → c, y → d · space → end · z → end · </s> → end
    seen = looking([0, 5, 3, 4, 5, 5, 5], 6)
    assert word_alignment(both, seen, text) == ((0, 0), (1, 1))


def test_a_decoder_that_looks_nowhere_has_no_alignment() -> None:
    text = PAIRS["word"]
    blind = looking([0, 0], 2)._replace(attention=None)
    both = written(text, "the", "a")
    assert word_alignment(both, blind, text) is None
    tokens = token_details(both, blind, text, None)
    assert [(token.source, token.confidence) for token in tokens] == [(None, None)] * 2
