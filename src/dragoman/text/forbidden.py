"""Forbidden words, as they are written and not as they are cut: no way to spell them is left open.

A word is found character by character, whatever pieces or bytes it comes in, and only where it stands as a
word of its own. So "Rad" leaves "Fahrrad" alone, and after "Rad" a letter must follow.
"""

from __future__ import annotations

import codecs
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.text.automaton import Choice
from dragoman.text.boundary import fold, folded, is_letter
from dragoman.text.lowercase import Lowercase
from dragoman.text.specials import EOS
from dragoman.text.surface import SPACE, Surface

DEAD, START = 0, 1
OTHER = "\ufffd"  # stands for every sign that no forbidden word has
LETTER = "\U000104a0"  # and this for every letter that none has


class Place(NamedTuple):
    """How far some words have come (word, characters read), and what was read last."""

    begun: frozenset[tuple[int, int]]
    whole: bool  # a word is complete, unless a letter follows
    letter: bool


class Reader:
    """The states of reading characters: a table state × character class → state."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._begins: dict[str, list[int]] = defaultdict(list)
        for number, word in enumerate(words):
            self._begins[fold(word[0])].append(number)
        signs = {case for word in words for c in word for case in (c, c.upper(), c.lower()) if len(case) == 1}
        self.classes = {sign: number for number, sign in enumerate([OTHER, LETTER, *sorted(signs)])}
        self.table, self.whole = self._tabulate(Place(frozenset(), False, False))

    def _tabulate(self, first: Place) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        number = {first: START}
        places = [first]
        rows = [[DEAD] * len(self.classes)]
        for place in places:  # grows while it is read
            row = []
            for sign in self.classes:
                following = self._after(place, sign)
                if following is not None and following not in number:
                    number[following] = START + len(places)
                    places.append(following)
                row.append(DEAD if following is None else number[following])
            rows.append(row)
        return np.array(rows, np.int32), np.array([False, *(place.whole for place in places)])

    def _after(self, place: Place, sign: str) -> Place | None:
        letter = is_letter(sign)
        if place.whole and not letter:
            return None
        reading = list(place.begun)
        if not (place.letter and letter):
            reading += [(word, 0) for word in self._begins.get(fold(sign), ())]
        begun = {(word, read + 1) for word, read in reading if self._agrees(word, read, sign)}
        done = {(word, read) for word, read in begun if read == len(self._words[word])}
        if done and not letter:
            return None
        return Place(frozenset(begun - done), bool(done), letter)

    def _agrees(self, word: int, read: int, sign: str) -> bool:
        """A word in small letters is forbidden in every case."""
        text = self._words[word]
        return text[read] == sign or (text[read] == fold(sign) and text == folded(text))

    def number(self, character: str) -> int:
        return self.classes.get(character, self.classes[LETTER if is_letter(character) else OTHER])


class Context(NamedTuple):
    state: int
    pending: bytes  # of a character that is not complete
    begun: bool  # something has been written


class Forbidden:
    """An automaton; the same for all sentences."""

    def __init__(self, words: Iterable[str], surface: Surface) -> None:
        if isinstance(surface.tokenizer, Lowercase):
            words = [word.lower() for word in words]
        self._pieces = surface.pieces
        self._spaced = frozenset(range(len(surface.pieces))) - surface.raw if surface.opens else frozenset()
        texts = [text_of(piece) for piece in surface.pieces]
        self._reader = Reader(sorted({*words} - {""}))
        # Where no entry goes on with a word, as in a vocabulary of words, one that is whole stays so.
        self._is_closed = not surface.raw and not any(text and is_letter(text[0]) for text in texts)
        self._raw = [id for id, text in enumerate(texts) if text is None]
        first = [
            text.removeprefix(" ") if text and id in self._spaced else text for id, text in enumerate(texts)
        ]
        self._vocabulary = [Columns(self._reader, first), Columns(self._reader, texts)]
        self._contexts = [Context(START, b"", False)]
        self._numbers = {self._contexts[0]: 0}
        self._choices: dict[int, Choice] = {}
        self._steps: dict[tuple[int, int], int] = {}

    def start(self, sentence: int) -> int:
        return 0

    def after(self, state: int, token: int) -> int:
        if (state, token) not in self._steps:
            context = self._after(self._contexts[state], token)
            number = self._numbers.setdefault(context, len(self._contexts))
            if number == len(self._contexts):
                self._contexts.append(context)
            self._steps[state, token] = number
        return self._steps[state, token]

    def _after(self, context: Context, token: int) -> Context:
        piece = self._pieces[token]
        if not piece:
            return context
        if not context.begun and token in self._spaced:
            piece = piece.removeprefix(SPACE)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(context.pending + piece)
        state = context.state or START
        for character in text:
            state = int(self._reader.table[state, self._reader.number(character)])
        pending = decoder.getstate()[0]
        may_go_on = may_be_letter(pending) if pending else not self._is_closed
        if self._reader.whole[state] and not may_go_on:
            state = DEAD
        return Context(state, pending, True)

    def choice(self, state: int) -> Choice:
        if state not in self._choices:
            self._choices[state] = Choice(self._blocked(self._contexts[state], state), only=False)
        return self._choices[state]

    def _blocked(self, context: Context, state: int) -> list[int]:
        """A text that a forbidden word got into, because nothing else was left, is read from the start."""
        reading = context.state or START
        ends = [EOS] if self._reader.whole[reading] else []
        if context.pending:  # what comes now breaks the character off
            reading = int(self._reader.table[reading, self._reader.classes[OTHER]])
        states = self._vocabulary[context.begun].read_from(reading)
        dead = (states == DEAD) | (self._reader.whole[states] & self._is_closed)
        whole = self._vocabulary[context.begun].ids[dead].tolist()
        parts = [id for id in self._raw if self._contexts[self.after(state, id)].state == DEAD]
        return [*ends, *whole, *parts]


class Columns:
    """The texts of a vocabulary as character classes, column by column, the longest texts first."""

    def __init__(self, reader: Reader, texts: Sequence[str | None]) -> None:
        self._table = reader.table
        rows = sorted(((text, id) for id, text in enumerate(texts) if text), key=lambda row: -len(row[0]))
        self.ids = np.array([id for _, id in rows], np.int64)
        longest = len(rows[0][0]) if rows else 0
        self._columns = [
            np.array([reader.number(text[i]) for text, _ in rows if len(text) > i], np.int64)
            for i in range(longest)
        ]

    def read_from(self, state: int) -> NDArray[np.int32]:
        """The state after each of the texts."""
        states = np.full(len(self.ids), state, np.int32)
        for column in self._columns:
            states[: len(column)] = self._table[states[: len(column)], column]
        return states


def text_of(piece: bytes) -> str | None:
    """None for a piece that is a part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=4096)
def may_be_letter(pending: bytes) -> bool:
    """Whether some character that begins with these bytes is a letter."""
    lead = pending[0]
    size, bits = (2, lead & 0x1F) if lead < 0xE0 else (3, lead & 0x0F) if lead < 0xF0 else (4, lead & 0x07)
    for byte in pending[1:]:
        bits = bits << 6 | byte & 0x3F
    missing = 6 * (size - len(pending))
    codes = range(bits << missing, min((bits + 1) << missing, 0x110000))
    return any(is_letter(chr(code)) for code in codes)
