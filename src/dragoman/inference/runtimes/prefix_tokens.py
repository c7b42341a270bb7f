"""A prefix in tokens, for an engine that can only be given tokens.

The words before the last are written in their pieces; of the last, which may end within a piece, each token
is the most probable of those that agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inference.runtimes.runtime import Engine, IdSequence
from dragoman.steering.forced_prefix import ForcedPrefix
from dragoman.steering.token_bytes import TokenBytes


class PrefixForcer:
    """The beginnings of some outputs."""

    def __init__(self, prefixes: Sequence[str], surface: TokenBytes) -> None:
        self.prefixes = prefixes
        self.surface = surface
        self.automaton = ForcedPrefix(prefixes, surface)

    def tokens(self, engine: Engine, sources: Sequence[IdSequence]) -> list[list[int]]:
        """One beginning for each source."""
        states = [self.automaton.start(place) for place in range(len(sources))]
        written: list[list[int]] = [[] for _ in sources]
        while open_places := [place for place, state in enumerate(states) if state]:
            chosen = self._next(engine, sources, written, states, open_places)
            for place, token in zip(open_places, chosen, strict=True):
                written[place].append(token)
                states[place] = self.automaton.after(states[place], token)
        return written

    def _next(
        self,
        engine: Engine,
        sources: Sequence[IdSequence],
        written: Sequence[IdSequence],
        states: Sequence[int],
        places: Sequence[int],
    ) -> list[int]:
        """A token for each place; the engine is asked only where there is a choice."""
        choices = {place: self.automaton.choice(states[place]).ids for place in places}
        unsure = [place for place in places if len(choices[place]) > 1]
        chosen = {place: choices[place][0] for place in places if place not in unsure}
        if unsure:
            log_p = engine.after([sources[n] for n in unsure], [written[n] for n in unsure])
            for place, row in zip(unsure, log_p, strict=True):
                chosen[place] = max(choices[place], key=row.__getitem__)
        return [chosen[place] for place in places]

    def text(self, place: int, tokens: IdSequence) -> str:
        """What an output says: the prefix as it was typed, then the rest."""
        if not self.prefixes[place]:
            return self.surface.tokenizer.decode(tokens)
        size = self.automaton.openings[place].size(self.surface)
        return self.prefixes[place] + self.surface.read(self.surface.spell(tokens)[size:])
