"""The seam between a rule about text and search: a state, and what may be written in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class AllowedTokens(NamedTuple):
    """What may come next: only these ids, or all but these."""

    ids: Sequence[int]
    only: bool


ANY_TOKEN = AllowedTokens((), only=False)


@runtime_checkable
class TokenAutomaton(Protocol):
    """States are numbers and stand for the same text for as long as the automaton lives."""

    def start(self, sentence: int) -> int:
        """Where sentence number `sentence` of the texts begins."""

    def after(self, state: int, token: int) -> int: ...

    def choice(self, state: int) -> AllowedTokens: ...
