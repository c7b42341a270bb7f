"""Forbidden words, matched as characters and not as tokens, so that no spelling of them remains possible.

A word is matched character by character, in whatever pieces or bytes it is written, and only as a whole word:
"Rad" does not forbid "Fahrrad", but after "Rad" a letter must follow. Spellings that look alike are equal: ä
and a with a combining diaeresis, ß and SS, ﬁ and fi, one space and two, with a soft hyphen or without.
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
OTHER = "\ufffd"  # represents every character that no forbidden word has
SPACE_SIGN = " "
LAST_LETTER = 0x40000  # no letter of Unicode is at or after this code point


class Cluster(NamedTuple):
    """A base character and its combining marks, in Unicode's canonical order."""

    base: str
    marks: tuple[str, ...] = ()

    def after(self, read: int, mark: str) -> int | None:
        """Return the marks read (one bit each) with `mark` added, or None if it does not match.

        Marks of different combining classes may come in any order.
        """
        kind = unicodedata.combining(mark)
        for position, expected in enumerate(self.marks):
            if not read >> position & 1 and unicodedata.combining(expected) == kind:
                return read | 1 << position if mark == expected else None
        return None

    def is_whole(self, read: int) -> bool:
        return read == (1 << len(self.marks)) - 1


class Word(NamedTuple):
    clusters: tuple[Cluster, ...]
    is_small: bool  # in lower case, and so forbidden in every case

    def parts(self, spelling: Spelling) -> tuple[str, ...]:
        return spelling.small if self.is_small else spelling.exact

    def advance(self, at: WordPosition, parts: Sequence[str]) -> WordPosition | None:
        """Return the state after further parts of a text; None if they do not match the word."""
        for part in parts:
            position, read = at
            if is_mark(part) and position >= 0:
                more = self.clusters[position].after(read, part)
                if more is None:
                    return None
                at = WordPosition(position, more)
            elif part == SPACE_SIGN and position >= 0 and self.clusters[position].base == part:
                continue  # several spaces are one
            elif (position < 0 or self.clusters[position].is_whole(read)) and self._begins(
                position + 1, part
            ):
                at = WordPosition(position + 1, 0)
            else:
                return None
        return at

    def _begins(self, position: int, part: str) -> bool:
        return position < len(self.clusters) and self.clusters[position].base == part

    def is_done(self, at: WordPosition) -> bool:
        return at.position == len(self.clusters) - 1 and self.clusters[-1].is_whole(at.marks)


class WordPosition(NamedTuple):
    """A position in a word: the cluster that was read last, and which of its marks."""

    position: int = -1
    marks: int = 0


def word_of(text: str) -> Word:
    """Return the word to match; one in lower case matches every case."""
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
    """The progress in each word that has begun, and what was read last."""

    begun: frozenset[tuple[int, WordPosition]]
    whole: bool  # a word is complete, unless a letter follows
    letter: bool


class WordMatcher:
    """An automaton over characters: a table state × character class → state, which grows on demand."""

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
            self.number(sign)  # likely ones, so that the table seldom grows

    def number(self, character: str) -> int:
        """Return the class of a character; those that no word has are not distinguished."""
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
            for number, position in enumerate(self._places):  # they grow in this loop
                if number == len(self._rows):
                    self._rows.append([])
                row = self._rows[number]
                row += [self._number(self._after(position, found)) for found in classes[len(row) :]]
            rows = [[DEAD] * len(classes), *self._rows]
            whole = [False, *(position.whole for position in self._places)]
            self._arrays = np.array(rows, np.int32), np.array(whole)
        return self._arrays

    def _number(self, position: MatchState | None) -> int:
        if position is None:
            return DEAD
        if position not in self._numbers:
            self._numbers[position] = START + len(self._places)
            self._places.append(position)
        return self._numbers[position]

    def _after(self, position: MatchState, found: Spelling) -> MatchState | None:
        if not found.exact:
            return position
        if position.whole and not found.letter:
            return None
        reading = list(position.begun)
        if not (position.letter and found.letter):
            begins = (True, found.small[0]), (False, found.exact[0])
            reading += [(number, WordPosition()) for key in begins for number in self._begins.get(key, ())]
        begun, is_done = set(), False
        for number, at in reading:
            word = self._words[number]
            then = word.advance(at, word.parts(found))
            if then is not None and word.is_done(then):
                is_done = True
            elif then is not None:
                begun.add((number, then))
        if is_done and not found.letter:
            return None
        return MatchState(frozenset(begun), is_done, found.letter)

    def finds(self, text: str) -> bool:
        """Return whether a text contains one of the words as a whole word."""
        state = self.read(START, text)
        return state == DEAD or bool(self.whole[state])

    def read(self, state: int, text: str) -> int:
        numbers = [self.number(character) for character in text]  # first, as new classes extend the table
        table = self.table
        for number in numbers:
            state = int(table[state, number])
        return state


@lru_cache(maxsize=1024)
def matcher_of(word: str) -> WordMatcher:
    return WordMatcher([word])


class MatchContext(NamedTuple):
    state: int
    pending: bytes  # of an incomplete character
    begun: bool  # something has been written


class BannedWords:
    """An automaton over tokens, the same for all sentences."""

    def __init__(self, words: Iterable[str], surface: TokenBytes) -> None:
        if isinstance(surface.tokenizer, Lowercase):
            words = [word.lower() for word in words]
        self._pieces = surface.pieces
        self._spaced = frozenset(range(len(surface.pieces))) - surface.raw if surface.opens else frozenset()
        texts = [text_of(piece) for piece in surface.pieces]
        self._reader = WordMatcher(sorted({*words}))
        # If no entry continues a word, as in a vocabulary of words, a complete word remains complete.
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
        if self._reader.whole[state] and not self._can_continue(pending):
            state = DEAD
        return MatchContext(state, pending, True)

    def _can_continue(self, pending: bytes) -> bool:
        """Return whether a letter may follow, directly or after an invisible character."""
        if pending:
            return may_be_letter(pending) or may_be_invisible(pending)
        return not self._is_closed

    def choice(self, state: int) -> AllowedTokens:
        if state not in self._choices:
            self._choices[state] = AllowedTokens(self._blocked(self._contexts[state], state), only=False)
        return self._choices[state]

    def _blocked(self, context: MatchContext, state: int) -> list[int]:
        """Return the blocked tokens.

        After a forbidden word, written because no other token was allowed, matching starts again.
        """
        reading = context.state or START
        ends = [EOS] if self._reader.whole[reading] else []
        if context.pending:  # the next token leaves the character incomplete
            reading = int(self._reader.table[reading, self._reader.other])
        states = self._vocabulary[context.begun].read_from(reading)
        dead = (states == DEAD) | (self._reader.whole[states] & self._is_closed)
        whole = self._vocabulary[context.begun].ids[dead].tolist()
        parts = [id for id in self._raw if self._contexts[self.after(state, id)].state == DEAD]
        return [*ends, *whole, *parts]


class VocabularyMatrix:
    """The texts of a vocabulary as columns of character classes, the longest texts first."""

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
        """Return the state after each of the texts."""
        table, states = self._reader.table, np.full(len(self.ids), state, np.int32)
        for column in self._columns:
            states[: len(column)] = table[states[: len(column)], column]
        return states


def text_of(piece: bytes) -> str | None:
    """Return the text of a piece; None if it is a part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=4096)
def may_be_letter(pending: bytes) -> bool:
    """Return whether some character that begins with these bytes is a letter."""
    return any(is_letter(chr(code)) for code in codes(pending) if code < LAST_LETTER)


def may_be_invisible(pending: bytes) -> bool:
    found = codes(pending)
    return any(low < found.stop and found.start <= high for low, high in INVISIBLE)


def codes(pending: bytes) -> range:
    """Return the code points whose UTF-8 begins with these bytes."""
    lead = pending[0]
    size, bits = (2, lead & 0x1F) if lead < 0xE0 else (3, lead & 0x0F) if lead < 0xF0 else (4, lead & 0x07)
    for byte in pending[1:]:
        bits = bits << 6 | byte & 0x3F
    missing = 6 * (size - len(pending))
    return range(bits << missing, min((bits + 1) << missing, 0x110000))
