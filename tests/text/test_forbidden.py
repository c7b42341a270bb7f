"""Forbidden words against a plain search in the decoded text."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.text.automaton import Choice
from dragoman.text.boundary import agrees, is_inside
from dragoman.text.forbidden import Forbidden, may_be_letter
from dragoman.text.lowercase import Lowercase
from dragoman.text.specials import EOS
from dragoman.text.surface import Surface
from dragoman.text.tokenizer import Tokenizer
from text.made_up_corpus import KINDS

WORDS = ["über", "mi", "schöne", "lo ren", "ß.", "Mista"]


def contains(text: str, words: list[str]) -> bool:
    """The definition: some word stands in the text as a word of its own."""
    return any(
        agrees(word, text[i : i + len(word)])
        and not is_inside(text, i)
        and not is_inside(text, i + len(word))
        for word in words
        for i in range(len(text))
    )


def near(surface: Surface, words: list[str]) -> list[int]:
    """Entries that are a part of a forbidden word, and a few others."""
    text = " ".join(words).encode()
    parts = [id for id, piece in enumerate(surface.pieces) if piece and piece.strip() in text]
    return [*parts, *range(len(surface.pieces) - 20, len(surface.pieces))]


@pytest.fixture(scope="module")
def automata(tokenizers: dict[str, Tokenizer]) -> dict[str, tuple[Surface, Forbidden, list[int]]]:
    surfaces = {kind: Surface(tokenizer) for kind, tokenizer in tokenizers.items()}
    return {kind: (s, Forbidden(WORDS, s), near(s, WORDS)) for kind, s in surfaces.items()}


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_what_is_blocked_is_what_would_write_the_word(
    automata: dict[str, tuple[Surface, Forbidden, list[int]]], kind: str, seed: int
) -> None:
    surface, forbidden, ids = automata[kind]
    rng, state, line = random.Random(seed), forbidden.start(0), []
    for _ in range(8):
        blocked = set(forbidden.choice(state).ids)
        text = surface.spell(line).decode(errors="replace")
        assert (EOS in blocked) == contains(text, WORDS)
        for token in rng.sample(ids, 8):
            after = surface.spell([*line, token]).decode(errors="ignore")
            letter = "" if kind == "word" else "x"  # what could still make another word of the last one
            if surface.spell([*line, token]).decode(errors="replace") == after:
                assert (token in blocked) == contains(after + letter, WORDS), (text, after)
        open_ids = [id for id in ids if id not in blocked]
        token = rng.choice(open_ids)
        line.append(token)
        state = forbidden.after(state, token)
    if EOS not in forbidden.choice(state).ids:
        assert not contains(surface.spell(line).decode(errors="replace"), WORDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_spell_a_word_is_blocked(
    automata: dict[str, tuple[Surface, Forbidden, list[int]]], kind: str
) -> None:
    surface, forbidden, _ = automata[kind]
    lines = spellings(surface, "mi", 100)
    assert lines or kind == "word"
    for line in lines:
        state, stopped = forbidden.start(0), False
        for token, following in pairwise([*line, EOS]):
            stopped = stopped or token in forbidden.choice(state).ids
            state = forbidden.after(state, token)
            stopped = stopped or following in forbidden.choice(state).ids
        assert stopped, [surface.pieces[id] for id in line]


def spellings(surface: Surface, text: str, number: int) -> list[list[int]]:
    """Random cuts of a text into entries."""
    rng, found = random.Random(1), []
    for _ in range(number):
        rest, line = text.encode(), []
        while rest:
            cuts = [n for n in range(1, len(rest) + 1) if rest[:n] in surface.ids]
            if not cuts:
                line = []
                break
            piece = rest[: rng.choice(cuts)]
            line.append(rng.choice(surface.ids[piece]))
            rest = rest[len(piece) :]
        found += [line] if line else []
    return found


def test_a_lowercase_model_forgets_the_case_of_forbidden_words(tokenizers: dict[str, Tokenizer]) -> None:
    surface = Surface(Lowercase(tokenizers["char"]))
    forbidden = Forbidden(["MI", ""], surface)
    state = forbidden.after(forbidden.after(0, surface.ids[b"m"][0]), surface.ids[b"i"][0])
    assert EOS in forbidden.choice(state).ids


def test_nothing_forbidden_blocks_nothing(tokenizer: Tokenizer) -> None:
    forbidden = Forbidden([], Surface(tokenizer))
    assert forbidden.choice(forbidden.start(3)) == Choice([], only=False)


@pytest.mark.parametrize(
    ("pending", "is_letter"), [(b"\xc3", True), (b"\xe2\x80", False), (b"\xf0\x9f\x98", False)]
)
def test_half_a_character_may_become_a_letter(pending: bytes, is_letter: bool) -> None:
    assert may_be_letter(pending) == is_letter
