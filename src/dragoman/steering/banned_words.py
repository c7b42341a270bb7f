"""Forbidden words, as they are read and not as they are cut or coded: no way to spell them is left open.

A word is found character by character, whatever pieces or bytes it comes in, and only where it stands as a
word of its own. So "Rad" leaves "Fahrrad" alone, and after "Rad" a letter must follow. Spellings that look
alike are one: ä and a with two dots, ß and SS, ﬁ and fi, one space and two, with a soft hyphen or without.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.steering.token_bytes import SPACE, TokenBytes
from dragoman.steering.words import INVISIBLE, Spelling, folded, is_letter, is_mark, spelling
from dragoman.text.specials import EOS
from dragoman.text.token_automaton import AllowedTokens
from dragoman.text.tokenizers.lowercase import Lowercase

DEAD, START = 0, 1
OTHER = "\ufffd"  # stands for every character that no forbidden word has
SPACE_SIGN = " "
LAST_LETTER = 0x40000  # Unicode has none behind it


class Cluster(NamedTuple):
    """A letter, or another sign, and the marks on it, in Unicode's canonical order."""

    base: str
    marks: tuple[str, ...] = ()

    def after(self, read: int, mark: str) -> int | None:
        """The marks read (a bit each) with one more; marks of different classes come in any order."""
        kind = unicodedata.combining(mark)
        for place, expected in enumerate(self.marks):
            if not read >> place & 1 and unicodedata.combining(expected) == kind:
                return read | 1 << place if mark == expected else None
        return None

    def is_whole(self, read: int) -> bool:
        return read == (1 << len(self.marks)) - 1


class Word(NamedTuple):
    clusters: tuple[Cluster, ...]
    is_small: bool  # and so forbidden in every case

    def parts(self, spelling: Spelling) -> tuple[str, ...]:
        return spelling.small if self.is_small else spelling.exact

    def along(self, at: At, parts: Sequence[str]) -> At | None:
        """Where parts of a text lead to; None where they are not those of the word."""
        for part in parts:
            place, read = at
            if is_mark(part) and place >= 0:
                more = self.clusters[place].after(read, part)
                if more is None:
                    return None
                at = At(place, more)
            elif part == SPACE_SIGN and place >= 0 and self.clusters[place].base == part:
                continue  # several are one
            elif (place < 0 or self.clusters[place].is_whole(read)) and self._begins(place + 1, part):
                at = At(place + 1, 0)
            else:
                return None
        return at

    def _begins(self, place: int, part: str) -> bool:
        return place < len(self.clusters) and self.clusters[place].base == part

    def is_done(self, at: At) -> bool:
        return at.place == len(self.clusters) - 1 and self.clusters[-1].is_whole(at.marks)


class At(NamedTuple):
    """The cluster of a word that was read last, and which of its marks."""

    place: int = -1
    marks: int = 0


def word_of(text: str) -> Word:
    """A word in small letters stands for every case of it."""
    is_small = text == folded(text)
    spellings = map(spelling, " ".join(text.split()))
    clusters: list[Cluster] = []
    for part in (part for one in spellings for part in (one.small if is_small else one.exact)):
        if is_mark(part) and clusters:
            last = clusters[-1]
            clusters[-1] = Cluster(last.base, tuple(sorted((*last.marks, part), key=unicodedata.combining)))
        else:
            clusters.append(Cluster(part))
    return Word(tuple(clusters), is_small)


class MatchState(NamedTuple):
    """How far some words have come, and what was read last."""

    begun: frozenset[tuple[int, At]]
    whole: bool  # a word is complete, unless a letter follows
    letter: bool


class WordMatcher:
    """The states of reading characters: a table state × character class → state, which grows with them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word for word in map(word_of, words) if word.clusters]
        clusters = [(word.is_small, cluster) for word in self._words for cluster in word.clusters]
        self._signs = {(small, c) for small, cluster in clusters for c in (cluster.base, *cluster.marks)}
        self._begins: dict[tuple[bool, str], list[int]] = defaultdict(list)
        for number, word in enumerate(self._words):
            self._begins[word.is_small, word.clusters[0].base].append(number)
        self._classes: dict[Spelling, int] = {}
        self._class_of: dict[str, int] = {}
        first = MatchState(frozenset(), False, False)
        self._places, self._numbers = [first], {first: START}
        self._rows: list[list[int]] = []
        self._arrays: tuple[NDArray[np.int32], NDArray[np.bool_]] | None = None
        self.other = self.number(OTHER)
        for sign in sorted({"\u00ad", " ", "a", *"".join(words), *"".join(words).upper()}):
            self.number(sign)  # those that are likely, so that the table seldom grows

    def number(self, character: str) -> int:
        """The class of a character: those that no word has are all alike."""
        if character not in self._class_of:
            key = self._key(spelling(character))
            if key not in self._classes:
                self._classes[key] = len(self._classes)
                self._arrays = None
            self._class_of[character] = self._classes[key]
        return self._class_of[character]

    def _key(self, found: Spelling) -> Spelling:
        is_known = any(
            all((is_small, part) in self._signs for part in parts)
            for is_small, parts in ((True, found.small), (False, found.exact))
        )
        return found if is_known else Spelling((OTHER,), (OTHER,), found.letter)

    @property
    def table(self) -> NDArray[np.int32]:
        return self._tabulated()[0]

    @property
    def whole(self) -> NDArray[np.bool_]:
        return self._tabulated()[1]

    def _tabulated(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        if self._arrays is None:
            classes = list(self._classes)
            for number, place in enumerate(self._places):  # which grow meanwhile
                if number == len(self._rows):
                    self._rows.append([])
                row = self._rows[number]
                row += [self._number(self._after(place, found)) for found in classes[len(row) :]]
            rows = [[DEAD] * len(classes), *self._rows]
            whole = [False, *(place.whole for place in self._places)]
            self._arrays = np.array(rows, np.int32), np.array(whole)
        return self._arrays

    def _number(self, place: MatchState | None) -> int:
        if place is None:
            return DEAD
        if place not in self._numbers:
            self._numbers[place] = START + len(self._places)
            self._places.append(place)
        return self._numbers[place]

    def _after(self, place: MatchState, found: Spelling) -> MatchState | None:
        if not found.exact:
            return place
        if place.whole and not found.letter:
            return None
        reading = list(place.begun)
        if not (place.letter and found.letter):
            begins = (True, found.small[0]), (False, found.exact[0])
            reading += [(number, At()) for key in begins for number in self._begins.get(key, ())]
        begun, is_done = set(), False
        for number, at in reading:
            word = self._words[number]
            then = word.along(at, word.parts(found))
            if then is not None and word.is_done(then):
                is_done = True
            elif then is not None:
                begun.add((number, then))
        if is_done and not found.letter:
            return None
        return MatchState(frozenset(begun), is_done, found.letter)

    def finds(self, text: str) -> bool:
        """Whether one of the words stands in a text as a word of its own."""
        state = self.read(START, text)
        return state == DEAD or bool(self.whole[state])

    def read(self, state: int, text: str) -> int:
        numbers = [self.number(character) for character in text]  # first: they may add to the table
        table = self.table
        for number in numbers:
            state = int(table[state, number])
        return state


@lru_cache(maxsize=1024)
def matcher_of(word: str) -> WordMatcher:
    return WordMatcher([word])


class MatchContext(NamedTuple):
    state: int
    pending: bytes  # of a character that is not complete
    begun: bool  # something has been written


class BannedWords:
    """An automaton; the same for all sentences."""

    def __init__(self, words: Iterable[str], surface: TokenBytes) -> None:
        if isinstance(surface.tokenizer, Lowercase):
            words = [word.lower() for word in words]
        self._pieces = surface.pieces
        self._spaced = frozenset(range(len(surface.pieces))) - surface.raw if surface.opens else frozenset()
        texts = [text_of(piece) for piece in surface.pieces]
        self._reader = WordMatcher(sorted({*words}))
        # Where no entry goes on with a word, as in a vocabulary of words, one that is whole stays so.
        self._is_closed = not surface.raw and not any(text and is_letter(text[0]) for text in texts)
        self._raw = [id for id, text in enumerate(texts) if text is None]
        first = [
            text.removeprefix(" ") if text and id in self._spaced else text for id, text in enumerate(texts)
        ]
        self._vocabulary = [VocabularyMatrix(self._reader, first), VocabularyMatrix(self._reader, texts)]
        self._contexts = [MatchContext(START, b"", False)]
        self._numbers = {self._contexts[0]: 0}
        self._choices: dict[int, AllowedTokens] = {}
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

    def _after(self, context: MatchContext, token: int) -> MatchContext:
        piece = self._pieces[token]
        if not piece:
            return context
        if not context.begun and token in self._spaced:
            piece = piece.removeprefix(SPACE)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(context.pending + piece)
        state = self._reader.read(context.state or START, text)
        pending = decoder.getstate()[0]
        if self._reader.whole[state] and not self._may_go_on(pending):
            state = DEAD
        return MatchContext(state, pending, True)

    def _may_go_on(self, pending: bytes) -> bool:
        """Whether a letter may follow, at once or after something that is not seen."""
        if pending:
            return may_be_letter(pending) or may_be_invisible(pending)
        return not self._is_closed

    def choice(self, state: int) -> AllowedTokens:
        if state not in self._choices:
            self._choices[state] = AllowedTokens(self._blocked(self._contexts[state], state), only=False)
        return self._choices[state]

    def _blocked(self, context: MatchContext, state: int) -> list[int]:
        """A text that a forbidden word got into, because nothing else was left, is read from the start."""
        reading = context.state or START
        ends = [EOS] if self._reader.whole[reading] else []
        if context.pending:  # what comes now breaks the character off
            reading = int(self._reader.table[reading, self._reader.other])
        states = self._vocabulary[context.begun].read_from(reading)
        dead = (states == DEAD) | (self._reader.whole[states] & self._is_closed)
        whole = self._vocabulary[context.begun].ids[dead].tolist()
        parts = [id for id in self._raw if self._contexts[self.after(state, id)].state == DEAD]
        return [*ends, *whole, *parts]


class VocabularyMatrix:
    """The texts of a vocabulary as character classes, column by column, the longest texts first."""

    def __init__(self, reader: WordMatcher, texts: Sequence[str | None]) -> None:
        self._reader = reader
        rows = sorted(((text, id) for id, text in enumerate(texts) if text), key=lambda row: -len(row[0]))
        self.ids = np.array([id for _, id in rows], np.int64)
        longest = len(rows[0][0]) if rows else 0
        self._columns = [
            np.array([reader.number(text[i]) for text, _ in rows if len(text) > i], np.int64)
            for i in range(longest)
        ]

    def read_from(self, state: int) -> NDArray[np.int32]:
        """The state after each of the texts."""
        table, states = self._reader.table, np.full(len(self.ids), state, np.int32)
        for column in self._columns:
            states[: len(column)] = table[states[: len(column)], column]
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
    return any(is_letter(chr(code)) for code in codes(pending) if code < LAST_LETTER)


def may_be_invisible(pending: bytes) -> bool:
    found = codes(pending)
    return any(low < found.stop and found.start <= high for low, high in INVISIBLE)


def codes(pending: bytes) -> range:
    """The code points that begin with these bytes of UTF-8."""
    lead = pending[0]
    size, bits = (2, lead & 0x1F) if lead < 0xE0 else (3, lead & 0x0F) if lead < 0xF0 else (4, lead & 0x07)
    for byte in pending[1:]:
        bits = bits << 6 | byte & 0x3F
    missing = 6 * (size - len(pending))
    return range(bits << missing, min((bits + 1) << missing, 0x110000))
