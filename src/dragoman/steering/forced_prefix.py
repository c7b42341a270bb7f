"""Outputs that must begin with a given text.

A text that ends within a word may end within a piece: "Fahr" may continue as "▁Fahr|rad" or as "▁Fahrrad".
So the words before the last are tokenised as usual, and the last one may be written in any pieces that agree
with it, the last of which may extend beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dragoman.steering.token_bytes import SPACE, TokenBytes
from dragoman.text.specials import UNK
from dragoman.text.token_automaton import ANY_TOKEN, AllowedTokens
from dragoman.text.tokenizers.lowercase import Lowercase

MAX_OPEN_PIECES = 8  # pieces of the last word that are left open, if it is long or the script has no spaces


class PrefixPieces(NamedTuple):
    """The beginning of one output: these ids, then `rest` in any pieces."""

    ids: tuple[int, ...]
    rest: bytes

    def size(self, surface: TokenBytes) -> int:
        """Return how many bytes of the output the prefix takes."""
        if self.ids:
            return len(surface.spell(self.ids)) + len(self.rest)
        return len(self.rest.removeprefix(SPACE) if surface.opens else self.rest)


class ForcedPrefix:
    """An automaton over tokens: in state 0 the prefix is complete, and every token is allowed."""

    def __init__(self, prefixes: Sequence[str], surface: TokenBytes) -> None:
        self._surface = surface
        self._live = lru_cache(maxsize=None)(self._is_live)
        self.openings = [self._opening(prefix) for prefix in prefixes]
        self._states = [PrefixPieces((), b"")]
        self._numbers = {self._states[0]: 0}
        self._choices: dict[int, AllowedTokens] = {}

    def _opening(self, prefix: str) -> PrefixPieces:
        tokenizer = self._surface.tokenizer
        text = prefix.lower() if isinstance(tokenizer, Lowercase) else prefix
        ids = tokenizer.encode(text)
        cut = self._last_word(ids)
        known = self._surface.spell(ids[:cut])
        whole = text.encode() if UNK not in ids[:cut] else self._surface.spell(ids)
        rests = [whole[len(known) :], self._surface.spell(ids)[len(known) :]]
        if not cut and self._surface.opens and text:
            rests = [SPACE + rest for rest in rests]
        return PrefixPieces(tuple(ids[:cut]), rests[0] if self._live(rests[0]) else rests[1])

    def _last_word(self, ids: Sequence[int]) -> int:
        """Return the number of ids before the last word."""
        cut = len(ids)
        while cut > 0 and len(ids) - cut < MAX_OPEN_PIECES:
            cut -= 1
            if self._surface.pieces[ids[cut]].startswith(SPACE):
                break
        return cut

    def start(self, sentence: int) -> int:
        return self._number(self.openings[sentence])

    def after(self, state: int, token: int) -> int:
        ids, rest = self._states[state]
        if ids:
            return self._number(PrefixPieces(ids[1:], rest))
        piece = self._surface.pieces[token]
        return self._number(PrefixPieces((), rest[len(piece) :] if rest.startswith(piece) else b""))

    def choice(self, state: int) -> AllowedTokens:
        if state == 0:
            return ANY_TOKEN
        if state not in self._choices:
            ids, rest = self._states[state]
            self._choices[state] = AllowedTokens(ids[:1] or self._agreeing(rest), only=True)
        return self._choices[state]

    def _number(self, opening: PrefixPieces) -> int:
        number = self._numbers.setdefault(opening, len(self._states))
        if number == len(self._states):
            self._states.append(opening)
        return number

    def _agreeing(self, rest: bytes) -> list[int]:
        """Return the pieces that write `rest` and possibly more, or a part of it that can be completed."""
        cuts = [n for n in range(1, len(rest)) if self._live(rest[n:])]
        parts = (id for n in cuts for id in self._writing(rest[:n]))
        return sorted({*self._surface.beginning_with(rest), *self._writing(rest), *parts})

    def _writing(self, text: bytes) -> list[int]:
        found = self._surface.ids.get(text, [])
        return [*found, UNK] if text == self._surface.pieces[UNK] else found

    def _is_live(self, rest: bytes) -> bool:
        """Return whether `rest` can be written in pieces."""
        if not rest or self._surface.beginning_with(rest) or self._writing(rest):
            return True
        return any(self._writing(rest[:n]) and self._live(rest[n:]) for n in range(1, len(rest)))
