"""Entries of a vocabulary in characters."""

from dragoman.text.tokenizers.lowercase import Lowercase
from dragoman.text.tokenizers.word import Word
from dragoman.text.vocabulary_characters import BEGIN, END, MAX_WORD_CHARACTERS, characters_of_entries


def test_words_are_spelt_by_code_points_between_begin_and_end() -> None:
    word = Word.learn(["aß ba 🙂 <unk>"], 100)
    spelling = characters_of_entries(word)
    assert len(spelling) == word.size
    assert all(s[0] == BEGIN and s[-1] == END and 0 not in s for s in spelling)
    a, b = (spelling[word.encode(text)[0]] for text in ("aß", "ba"))
    assert a[1] == b[2]
    assert a[1] != b[1]
    assert [len(spelling[word.encode(text)[0]]) for text in ("🙂", "<unk>")] == [3, 7]
    empty = word.encode("a  b")[1]
    assert spelling[empty] == [BEGIN, END]


def test_special_entries_have_a_character_of_their_own() -> None:
    spelling = characters_of_entries(Word.learn(["p a d"], 100))
    specials = [spelling[id] for id in range(4)]
    assert all(len(s) == 3 for s in specials)
    others = {c for s in spelling[4:] for c in s}
    assert len({s[1] for s in specials} - others) == 4


def test_numbers_leave_no_gap_and_long_words_are_cut() -> None:
    word = Lowercase(Word.learn(["z" * 500 + " yx"], 100))
    spelling = characters_of_entries(word)
    assert {c for s in spelling for c in s} == set(range(1, max(max(s) for s in spelling) + 1))
    assert max(len(s) for s in spelling) == MAX_WORD_CHARACTERS + 2
