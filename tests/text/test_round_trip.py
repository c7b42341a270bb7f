"""Strings to ids and back, for every kind."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import DataError, DragomanError
from dragoman.text.specials import BOS, EOS, PAD, SPECIALS, UNK, UNKNOWN
from dragoman.text.tokenizer import Ids, Tokenizer
from dragoman.text.tokenizers.lowercase import Lowercase
from dragoman.text.tokenizers.sentencepiece import FIRST_BYTE

ODD = [
    *SPECIALS, "", " ", "  ", " a", "a ", "a  b", "▁", "▁▁", "a▁b", " ▁ ", "\0", "a\0b", "\r", "a\r\n", "\t",
    "\x85", "\u2028", "<0x41>", "x<0x41>", UNKNOWN, f" {UNKNOWN} ", "\u2585", "\ufeffa", "\ufffd", "\ufffe",
    "\U0010ffff", "👩‍👩‍👧", "🇩🇪", "e\u0301\u0302", "a" + "\u0301" * 1000, "ﬁ", "Ⅷ", "\u00a0", "\u3000",
    "ab\u200b", "\u202eabc", "\U000e0041", "日本語", "mista ▁ lo", "x" * 5000,
]  # fmt: skip


def lists(rows: list[Ids]) -> list[list[int]]:
    return [row.tolist() for row in rows]


any_line = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from([*ODD, "mi", "sta", "über", "ß", "."])
).map("".join)


@given(text=any_line)
@settings(deadline=None, max_examples=250)
def test_every_string_comes_back(reversible: Tokenizer, text: str) -> None:
    assert reversible.decode(reversible.encode(text)) == text


@pytest.mark.parametrize("text", ODD)
def test_odd_strings_come_back(reversible: Tokenizer, text: str) -> None:
    assert reversible.decode(reversible.encode(text)) == text


def test_a_mark_of_a_word_is_bytes_and_the_rest_of_its_line_as_usual(
    subword: Tokenizer, lines: list[str]
) -> None:
    before, after = subword.encode(lines[0]), subword.encode(lines[1])
    found = subword.encode(f"{lines[0]} ▁ {lines[1]}")
    assert found[: len(before)] == before
    assert found[-len(after) :] == after
    assert bytes(id - FIRST_BYTE for id in found[: -len(after)][-3:]) == "▁".encode()


def test_learned_lines_come_back(tokenizer: Tokenizer, lines: list[str]) -> None:
    assert [tokenizer.decode(tokenizer.encode(line)) for line in lines] == lines


def test_special_tokens_cannot_be_typed(reversible: Tokenizer) -> None:
    rng = random.Random(1)
    glue = [" ", "", "▁", "mi", "ß", "\t", "<", ">", "日"]
    for _ in range(1000):
        text = "".join(rng.choice(rng.choice([SPECIALS, glue])) for _ in range(rng.randint(1, 6)))
        assert not {PAD, UNK, BOS, EOS} & set(reversible.encode(text)), text


@pytest.mark.parametrize("kind", ["word", "char"])
def test_typed_special_tokens_are_at_most_unknown(tokenizers: dict[str, Tokenizer], kind: str) -> None:
    for text in [*SPECIALS, "mi </s> lo", "<s>mi"]:
        assert not {PAD, BOS, EOS} & set(tokenizers[kind].encode(text))


@given(texts=st.lists(any_line, max_size=5))
@settings(deadline=None, max_examples=60)
def test_a_batch_is_its_lines(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert lists(tokenizer.encode_batch(texts)) == [tokenizer.encode(text) for text in texts]


def test_a_large_batch_is_its_lines(tokenizer: Tokenizer, lines: list[str]) -> None:
    assert lists(tokenizer.encode_batch(lines)) == [tokenizer.encode(line) for line in lines]


def test_decode_skips_padding_start_and_end(tokenizer: Tokenizer, lines: list[str]) -> None:
    line = lines[0]
    assert tokenizer.decode([BOS, *tokenizer.encode(line), EOS, PAD, PAD]) == line
    assert tokenizer.decode([PAD, BOS, EOS]) == ""


def test_decode_takes_any_ids(tokenizer: Tokenizer) -> None:
    rng = random.Random(2)
    for _ in range(300):
        ids = [rng.randrange(tokenizer.size) for _ in range(rng.randrange(12))]
        tokenizer.decode(ids).encode("utf-8")


@pytest.mark.parametrize("beyond", [-1, 10**6, 2**40])
def test_ids_beyond_the_vocabulary_are_refused(tokenizer: Tokenizer, beyond: int) -> None:
    with pytest.raises(DragomanError, match=f"has no id {beyond}"):
        tokenizer.decode([4, beyond])
    with pytest.raises(DragomanError, match=f"has no id {beyond}"):
        tokenizer.piece(beyond)


def test_unknown_shows_in_decoded_text(tokenizer: Tokenizer) -> None:
    assert UNKNOWN in tokenizer.decode([UNK])


def test_pieces_have_names(tokenizer: Tokenizer) -> None:
    names = [tokenizer.piece(id) for id in range(tokenizer.size)]
    assert tuple(names[:4]) == SPECIALS
    assert all(isinstance(name, str) for name in names)


def test_half_a_character_is_a_data_error(reversible: Tokenizer) -> None:
    with pytest.raises(DataError, match=r"lone surrogate U\+D83D") as caught:
        reversible.encode("ab\ud83d")
    assert "character 3" in caught.value.where
    with pytest.raises(DataError):
        reversible.encode_batch(["fine", "\udfff"])


def test_lower_case_on_encode(tokenizers: dict[str, Tokenizer]) -> None:
    small = Lowercase(tokenizers["bpe"])
    assert small.decode(small.encode("MISTA Über")) == "mista über"
    assert lists(small.encode_batch(["MISTA"])) == [tokenizers["bpe"].encode("mista")]
