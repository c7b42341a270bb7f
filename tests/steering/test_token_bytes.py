"""What the entries write, against what `decode` writes; and where words begin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.text import TextConfig
from dragoman.steering.lexical import may_continue, token_boundaries
from dragoman.steering.token_bytes import TokenBytes
from dragoman.steering.words import agrees, folded, is_inside, occurrences
from dragoman.text.build import learn
from dragoman.text.tokenizer import Tokenizer


@given(data=st.data())
@settings(max_examples=200)
def test_bytes_of_the_entries_are_the_decoded_line(tokenizer: Tokenizer, data: st.DataObject) -> None:
    surface = TokenBytes(tokenizer)
    ids = data.draw(st.lists(st.integers(0, tokenizer.size - 1), max_size=12))
    assert surface.read(surface.spell(ids)) == tokenizer.decode(ids)


def test_entries_are_found_by_what_they_begin_with(tokenizer: Tokenizer) -> None:
    surface = TokenBytes(tokenizer)
    start = surface.pieces[-1][:2]
    found = surface.beginning_with(start)
    assert sorted(found) == [i for i, piece in enumerate(surface.pieces) if piece.startswith(start) and i > 3]
    assert all(surface.pieces[id] == piece for piece, ids in surface.ids.items() for id in ids)


@given(text=st.text("mistaloüberß .x", min_size=1, max_size=20))
def test_the_longest_entries_spell_any_text(reversible: Tokenizer, text: str) -> None:
    surface = TokenBytes(reversible)
    assert b"".join(surface.pieces[id] for id in surface.longest_pieces(text.encode())) == text.encode()


def test_after_an_invisible_character_a_word_may_go_on() -> None:
    surface = TokenBytes(learn(TextConfig(kind="char"), [("a\u00ad.", "\u00ad a\u200b.")]).tgt)
    begins = token_boundaries(surface).begins_with_letter
    found = {piece.decode() for piece, is_letter in zip(surface.pieces, begins, strict=True) if is_letter}
    assert found == {"a", "\u00ad", "\u200b"}
    assert [may_continue(text) for text in ("\u200b\u00ad", "\u200bx", "\u200b.")] == [True, True, False]


@pytest.mark.parametrize(
    ("form", "text", "places"),
    [
        ("Rad", "Rad, Fahrrad und Rad.", [0, 17]),
        ("Rad", "Rades Radä Rad_ 7Rad", []),
        ("C++", "C++ und C++x, aC++", [0, 8]),
        ("[X]", "a[X]b", [1]),
        ("自行车", "他骑自行车去", [2]),
        ("New York", "„New York“", [1]),
        ("aa", "aa aa", [0, 3]),
        ("", "aa", []),
    ],
)
def test_occurrences_are_whole_words(form: str, text: str, places: list[int]) -> None:
    assert list(occurrences(form, text)) == places


def test_small_letters_stand_for_every_case_and_capitals_for_themselves() -> None:
    assert agrees("sie", "Sie")
    assert agrees("sie", "SIE")
    assert not agrees("Sie", "sie")
    assert not agrees("US", "us")
    assert folded("ÄİẞΣ") == "äİßσ"  # İ would become two characters
    assert is_inside("ab", 1)
    assert not is_inside("a b", 1)
