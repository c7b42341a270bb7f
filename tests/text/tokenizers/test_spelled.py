"""Spelled words: an id and bytes each, which keep unknown words apart."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.specials import EOS, UNK
from dragoman.text.tokenizers.spelled import ALPHABET, FIRST_BYTE, FIRST_WORD, Spelled, spelled_rows
from dragoman.text.vocabulary_characters import BEGIN, END, MAX_WORD_CHARACTERS

WORDS = Spelled.learn(["the cat saw the hat", "a tea"], 8)
TEXTS = st.lists(st.text("acehstwé ", max_size=30), min_size=1, max_size=5)


def spelled_in_words(text: str) -> list[list[int]]:
    """By the definition, word by word."""
    found = []
    for word in text.split(" ") if text else []:
        (id,) = (id for id in WORDS.encode(word) or [UNK] if not FIRST_BYTE <= id < FIRST_WORD)
        found.append([id, BEGIN, *(END + 1 + byte for byte in word.encode()), END])
    return [*found, [EOS]]


@given(TEXTS)
def test_an_array_holds_each_word_and_its_bytes(texts: list[str]) -> None:
    array, keep = spelled_rows(WORDS.encode_batch(texts))
    assert array.shape[:2] == keep.shape
    assert array[:, :, 1:].max(initial=0) < ALPHABET
    for row, real, text in zip(array, keep, texts, strict=True):
        expected = spelled_in_words(text)
        assert real.tolist() == [n < len(expected) for n in range(len(real))]
        for word, numbers in zip(row, expected, strict=False):
            assert word[: len(numbers)].tolist() == numbers
            assert not word[len(numbers) :].any()
        assert not row[len(expected) :].any()


@given(st.text("acehstwé ", min_size=1, max_size=30))
def test_unknown_words_come_back_by_their_bytes(text: str) -> None:
    if "" not in text.split(" "):
        assert WORDS.decode(WORDS.encode(text)) == text


def test_long_words_are_cut_and_a_vocabulary_is_saved(tmp_path: Path) -> None:
    WORDS.save(tmp_path, "src")
    again = Spelled.load(tmp_path, "src", Path.read_bytes)
    assert again.encode("the hat") == WORDS.encode("the hat")
    ids = again.encode("x" * 1000)
    assert ids == [UNK, *[FIRST_BYTE + ord("x")] * MAX_WORD_CHARACTERS]
    array, _ = spelled_rows([np.array(ids)], length=7)
    assert array.shape == (1, 7, MAX_WORD_CHARACTERS + 3)
    assert [again.piece(id) for id in (UNK, FIRST_BYTE + 0xE4, FIRST_WORD)] == ["<unk>", "<0xE4>", "the"]
