"""Outputs that begin with a given text, however it is cut."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.steering.forced_prefix import ForcedPrefix
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.specials import UNK
from dragoman.text.tokenizer import Tokenizer
from support.made_up_corpus import KINDS, corpus

LINES = corpus("tgt")[:40]


def walk(surface: TokenBytes, prefix: ForcedPrefix, sentence: int, rng: random.Random) -> list[int]:
    """Any of the ids that may come, until all may."""
    state, line = prefix.start(sentence), []
    while state:
        token = rng.choice(prefix.choice(state).ids)
        line.append(token)
        state = prefix.after(state, token)
    return line


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60)
def test_every_walk_writes_the_prefix(
    tokenizers: dict[str, Tokenizer], kind: str, data: st.DataObject
) -> None:
    surface = TokenBytes(tokenizers[kind])
    line = data.draw(st.sampled_from([*LINES, "日本 x", " ne", "ne  ne ", "schöne…"]))
    text = line[: data.draw(st.integers(0, len(line)))]
    prefix = ForcedPrefix([text], surface)
    ids = walk(surface, prefix, 0, random.Random(data.draw(st.integers(0, 99))))
    written = surface.spell(ids)
    if UNK not in ids:
        assert written.startswith(text.encode())
        assert prefix.openings[0].size(surface) == len(text.encode())
    assert len(written) >= prefix.openings[0].size(surface)


def test_a_prefix_cut_within_a_word_leaves_its_pieces_open(subword: Tokenizer) -> None:
    surface = TokenBytes(subword)
    whole = max(
        range(300, subword.size), key=lambda id: (surface.pieces[id][:1] == b" ", len(surface.pieces[id]))
    )
    word = surface.pieces[whole].decode().strip()
    prefix = ForcedPrefix([f"ne {word[:2]}"], surface)
    *before, state = [prefix.start(0)]
    for token in prefix.openings[0].ids:
        assert list(prefix.choice(state).ids) == [token]
        before, state = [*before, token], prefix.after(state, token)
    assert surface.spell(before) == b"ne"
    assert whole in prefix.choice(state).ids
    assert prefix.after(state, whole) == 0


def test_a_space_at_the_end_closes_the_word(subword: Tokenizer) -> None:
    surface = TokenBytes(subword)
    prefix = ForcedPrefix(["ne "], surface)
    state = prefix.start(0)
    for token in prefix.openings[0].ids:
        state = prefix.after(state, token)
    ids = prefix.choice(state).ids
    assert all(surface.pieces[id].startswith(b" ") for id in ids)
    assert len(ids) > 5


def test_an_unknown_word_of_a_prefix_is_written_as_unknown(tokenizers: dict[str, Tokenizer]) -> None:
    surface = TokenBytes(tokenizers["word"])
    prefix = ForcedPrefix(["xyz über", "über xyz", "", "übe"], surface)
    unknown = walk(surface, prefix, 1, random.Random(0))
    assert unknown[-1] == UNK
    assert walk(surface, prefix, 0, random.Random(0))[0] == UNK
    assert prefix.start(2) == 0
    (open_word,) = walk(surface, prefix, 3, random.Random(0))
    assert surface.pieces[open_word].startswith(" übe".encode())
