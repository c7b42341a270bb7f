"""What is particular to words, characters and bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.specials import SPECIALS, UNK, UNKNOWN
from dragoman.text.tokenizers.byte import Byte
from dragoman.text.tokenizers.char import Char
from dragoman.text.tokenizers.word import Word


def test_unknown_words_are_shown_as_unknown() -> None:
    words = Word.learn(["the cat sat", "the dog"], size=100)
    ids = words.encode("the bird sat")
    assert ids[1] == UNK
    assert words.decode(ids) == f"the {UNKNOWN} sat"


def test_unknown_characters_are_shown_as_unknown() -> None:
    characters = Char.learn(["abc"], size=100)
    assert characters.decode(characters.encode("aXc")) == f"a{UNKNOWN}c"


def test_the_most_frequent_words_are_kept_and_ties_are_alphabetical() -> None:
    words = Word.learn(["c b a", "b c", "z"], size=len(SPECIALS) + 1 + 3)
    assert words.vocabulary.entries == [*SPECIALS, "", "b", "c", "a"]


def test_the_most_frequent_characters_are_kept() -> None:
    characters = Char.learn(["aab", "ba c"], size=len(SPECIALS) + 2)
    assert characters.vocabulary.entries == [*SPECIALS, "a", "b"]


@given(st.lists(st.text("ab ", max_size=8), min_size=1))
@settings(deadline=None)
def test_words_with_any_spaces_come_back(lines: list[str]) -> None:
    words = Word.learn(lines, size=1000)
    assert [words.decode(words.encode(line)) for line in lines] == lines


def test_a_word_that_looks_special_is_a_word() -> None:
    words = Word.learn(["<s> </s> <unk> <pad>"], size=100)
    ids = words.encode("<s> </s> <unk> <pad>")
    assert min(ids) >= len(SPECIALS)
    assert words.decode(ids) == "<s> </s> <unk> <pad>"


def test_bytes_that_are_no_text_are_replaced() -> None:
    tokenizer = Byte()
    assert tokenizer.size == 260
    assert tokenizer.decode([4 + 0xC3, 4 + 0x41]) == "\ufffdA"
    assert tokenizer.piece(4 + 0x41) == "<0x41>"
