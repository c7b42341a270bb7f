"""Forbidden words against a plain search in the decoded text."""

from __future__ import annotations

import random
import re
import unicodedata
from functools import cache, lru_cache, partial
from itertools import pairwise, zip_longest

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dragoman.steering.banned_words import BannedWords, matcher_of, may_be_invisible, may_be_letter
from dragoman.steering.token_bytes import TokenBytes
from dragoman.steering.words import is_inside, is_invisible, is_letter
from dragoman.text.specials import EOS
from dragoman.text.token_automaton import AllowedTokens
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.tokenizers.byte import Byte
from dragoman.text.tokenizers.lowercase import Lowercase
from support.made_up_corpus import KINDS

WORDS = ["über", "mi", "schöne", "lo ren", "ß.", "Mista"]


@cache
def plain(sign: str) -> str:
    """A letter without its ornaments; all spaces are one."""
    plain = unicodedata.normalize("NFKD", sign)
    is_word = sign.isalnum() and all(c.isalnum() or unicodedata.combining(c) for c in plain)
    return " " if sign.isspace() else plain if is_word else sign


@lru_cache(maxsize=1 << 16)
def read(text: str, *, small: bool) -> str:
    """What is read of a text, however it is spelt."""
    signs = unicodedata.normalize("NFD", "".join(map(plain, text)))
    seen = "".join(c for c in signs if not is_invisible(c))
    if small:
        seen = "".join(c if unicodedata.combining(c) else c.casefold() for c in seen)
    return re.sub(" +", " ", unicodedata.normalize("NFD", seen))


def contains(text: str, words: list[str]) -> bool:
    """The definition: some word stands in the text as a word of its own, behind some of its characters."""
    visible = [place for place, sign in enumerate(text) if not is_invisible(sign)]
    for word in words:
        small = word == word.lower()
        wanted = read(word, small=small)
        for place, following in zip_longest(visible, visible[1:]):
            seen = read(text[: place + 1], small=small)
            begin = len(seen) - len(wanted)
            after = "" if following is None else read(text[following], small=small)
            ends = not is_letter(seen[-1]) or not any(map(is_letter, after))
            if seen.endswith(wanted) and not is_inside(seen, begin) and ends:
                return True
    return False


def near(surface: TokenBytes, words: list[str]) -> list[int]:
    """Entries that are a part of a forbidden word, and a few others."""
    text = " ".join(words).encode()
    parts = [id for id, piece in enumerate(surface.pieces) if piece and piece.strip() in text]
    return [*parts, *range(len(surface.pieces) - 20, len(surface.pieces))]


@pytest.fixture(scope="module")
def automata(tokenizers: dict[str, Tokenizer]) -> dict[str, tuple[TokenBytes, BannedWords, list[int]]]:
    surfaces = {kind: TokenBytes(tokenizer) for kind, tokenizer in tokenizers.items()}
    return {kind: (s, BannedWords(WORDS, s), near(s, WORDS)) for kind, s in surfaces.items()}


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_what_is_blocked_is_what_would_write_the_word(
    automata: dict[str, tuple[TokenBytes, BannedWords, list[int]]], kind: str, seed: int
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
        if not open_ids:  # all of these few: it is not a dead end for the whole vocabulary
            break
        token = rng.choice(open_ids)
        line.append(token)
        state = forbidden.after(state, token)
    if EOS not in forbidden.choice(state).ids:
        assert not contains(surface.spell(line).decode(errors="replace"), WORDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_spell_a_word_is_blocked(
    automata: dict[str, tuple[TokenBytes, BannedWords, list[int]]], kind: str
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


def spellings(surface: TokenBytes, text: str, number: int) -> list[list[int]]:
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
    surface = TokenBytes(Lowercase(tokenizers["char"]))
    forbidden = BannedWords(["MI", ""], surface)
    state = forbidden.after(forbidden.after(0, surface.ids[b"m"][0]), surface.ids[b"i"][0])
    assert EOS in forbidden.choice(state).ids


def test_nothing_forbidden_blocks_nothing(tokenizer: Tokenizer) -> None:
    forbidden = BannedWords([], TokenBytes(tokenizer))
    assert forbidden.choice(forbidden.start(3)) == AllowedTokens([], only=False)


@pytest.mark.parametrize(
    ("pending", "letter", "invisible"),
    [
        (b"\xc3", True, False),
        (b"\xc2", True, True),
        (b"\xe2\x80", False, True),
        (b"\xe2\x88", False, False),
        (b"\xf0\x9f\x98", False, False),
        (b"\xf3", False, True),
    ],
)
def test_half_a_character_may_become_a_letter_or_be_followed_by_one(
    pending: bytes, letter: bool, invisible: bool
) -> None:
    assert may_be_letter(pending) == letter
    assert may_be_invisible(pending) == invisible


SIGNS = [
    *("r", "a", "d", "R", "A", "D", "ä", "Ä", "\u0308", "\u0323", "\u0301", "é", "e", "s", "S", "ß", "ẞ"),
    *("\u00ad", "\u200b", "\u2060", "\ufe0f", " ", "\u00a0", "\t", ".", "-", "x", "ﬁ", "f", "i", "ｒ", "𝐚"),
    *("か", "が", "\u3099", "ｶ", "™", "²", "2", "İ", "ı", "\ufffd", "😀"),
]
nfd = partial(unicodedata.normalize, "NFD")
FORBIDDEN = ["rad", "räd", "ạ̈d", "das rad", "ß", "Rad", "fi", "か", "a2", "ré.", "iss", "ss"]


@given(text=st.lists(st.sampled_from(SIGNS), max_size=9).map("".join), word=st.sampled_from(FORBIDDEN))
@settings(max_examples=1500)
def test_a_word_is_found_where_it_is_read(text: str, word: str) -> None:
    # A voicing mark of kana after the mark of another letter: the order of marks decides what is last.
    visible = "".join(sign for sign in text if not is_invisible(sign))
    assume("\u3099" not in text or nfd(visible) == "".join(map(nfd, visible)))
    assert matcher_of(word).finds(text) == contains(text, [word]), [hex(ord(c)) for c in text]


WAYS = {
    "small": lambda c: c.lower(),
    "capital": lambda c: c.upper(),
    "composed": lambda c: unicodedata.normalize("NFC", c),
    "decomposed": lambda c: unicodedata.normalize("NFD", c),
    "hyphenated": lambda c: c + "\u00ad",
    "joined": lambda c: "\u200d" + c,
    "selected": lambda c: c + "\ufe0e",
    "spaced out": lambda c: c.replace(" ", " \u00a0\t"),
    "wide": lambda c: chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c.isalnum() else c,
    "bold": lambda c: chr(0x1D41A + ord(c) - ord("a")) if "a" <= c <= "z" else c,
    "long s": lambda c: c.replace("s", "ſ"),
}
SPELT = st.tuples(
    st.sampled_from(["straße", "café", "das rad", "Việt nam", "naïve", "fluß", "o'neill", "größe"]),
    st.lists(st.sampled_from(sorted(WAYS)), min_size=1, max_size=12),
)


@cache
def in_bytes(word: str) -> BannedWords:
    return BannedWords([word], TokenBytes(Byte()))


@given(SPELT)
@settings(max_examples=500)
def test_no_way_to_spell_a_word_is_left_open(spelt: tuple[str, list[str]]) -> None:
    """Each letter in a way of its own, byte by byte; a word with capitals keeps its case."""
    word, ways = spelt
    if word != word.lower():
        ways = [way for way in ways if way not in ("small", "capital", "bold", "long s", "wide")] or [
            "joined"
        ]
    text = "".join(WAYS[ways[n % len(ways)]](c) for n, c in enumerate(word))
    forbidden = in_bytes(word)
    state, stopped = forbidden.start(0), False
    for token in [*Byte().encode(f"x {text}"), EOS]:
        stopped = stopped or token in forbidden.choice(state).ids
        state = forbidden.after(state, token)
    assert stopped, [hex(ord(c)) for c in text]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("rad", "Fahrrad"),
        ("rad", "Fahr\u00adrad"),
        ("rad", "radar"),
        ("rad", "rad\u200bar"),
        ("cafe", "cafe\u0301"),
        ("rad", "räd"),
        ("sie", "s ie"),
        ("Sie", "SIE"),
        ("か", "が"),
        ("tm", "rad™"),
    ],
)
def test_another_word_is_left_alone(word: str, text: str) -> None:
    assert not matcher_of(word).finds(text)
