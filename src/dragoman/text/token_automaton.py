"""The interface between a rule about text and search: states, and the tokens allowed in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class AllowedTokens(NamedTuple):
    """The tokens that may come next: only these ids, or all but these."""

    ids: Sequence[int]
    only: bool


ANY_TOKEN = AllowedTokens((), only=False)


@runtime_checkable
class TokenAutomaton(Protocol):
    """An automaton over tokens. States are numbers that keep their meaning for the life of the automaton."""

    def start(self, sentence: int) -> int:
        """Return the initial state of sentence number `sentence`."""

    def after(self, state: int, token: int) -> int: ...

    def choice(self, state: int) -> AllowedTokens: ...
