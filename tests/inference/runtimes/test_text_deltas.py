"""Tokens as they come: text as soon as it is sure, and none of it twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.inference.runtimes.runtime import text_deltas
from dragoman.text.specials import EOS
from dragoman.text.tokenizers.byte import Byte

BYTES = Byte()


def test_a_character_of_several_tokens_comes_whole() -> None:
    tokens = [*BYTES.encode("aü日."), EOS, *BYTES.encode("never")]
    assert list(text_deltas(tokens, BYTES.decode)) == ["a", "ü", "日", "."]


def test_what_is_left_of_a_character_comes_at_the_end() -> None:
    tokens = BYTES.encode("aü")[:-1]
    assert list(text_deltas(tokens, BYTES.decode)) == ["a", "\ufffd"]


def test_what_was_begun_comes_with_the_first() -> None:
    assert list(text_deltas(BYTES.encode("cd"), BYTES.decode, BYTES.encode("ab"))) == ["abc", "d"]
    assert list(text_deltas([], BYTES.decode, BYTES.encode("ab"))) == ["ab"]


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_all_parts_are_the_text(text: str) -> None:
    assert "".join(text_deltas([*BYTES.encode(text), EOS], BYTES.decode)) == text
