"""Conversion of a prefix to tokens, for engines that accept only tokens.

The words before the last are tokenised as usual. The last word may end within a piece, so each of its tokens
is the most probable of those that agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inference.runtimes.runtime import Engine, IdSequence
from dragoman.steering.forced_prefix import ForcedPrefix
from dragoman.steering.token_bytes import TokenBytes


class PrefixForcer:
    """The prefixes of a list of outputs."""

    def __init__(self, prefixes: Sequence[str], surface: TokenBytes) -> None:
        self.prefixes = prefixes
        self.surface = surface
        self.automaton = ForcedPrefix(prefixes, surface)

    def tokens(self, engine: Engine, sources: Sequence[IdSequence]) -> list[list[int]]:
        """Return the tokens of the prefix of each source."""
        states = [self.automaton.start(index) for index in range(len(sources))]
        written: list[list[int]] = [[] for _ in sources]
        while incomplete := [index for index, state in enumerate(states) if state]:
            chosen = self._next(engine, sources, written, states, incomplete)
            for index, token in zip(incomplete, chosen, strict=True):
                written[index].append(token)
                states[index] = self.automaton.after(states[index], token)
        return written

    def _next(
        self,
        engine: Engine,
        sources: Sequence[IdSequence],
        written: Sequence[IdSequence],
        states: Sequence[int],
        indices: Sequence[int],
    ) -> list[int]:
        """Return the next token at each index; the engine is called only where there is a choice."""
        choices = {index: self.automaton.choice(states[index]).ids for index in indices}
        ambiguous = [index for index in indices if len(choices[index]) > 1]
        chosen = {index: choices[index][0] for index in indices if index not in ambiguous}
        if ambiguous:
            log_p = engine.next_log_probs([sources[n] for n in ambiguous], [written[n] for n in ambiguous])
            for index, row in zip(ambiguous, log_p, strict=True):
                chosen[index] = max(choices[index], key=row.__getitem__)
        return [chosen[index] for index in indices]

    def text(self, index: int, tokens: IdSequence) -> str:
        """Return the text of an output: the prefix as it was typed, then the rest."""
        if not self.prefixes[index]:
            return self.surface.tokenizer.decode(tokens)
        size = self.automaton.openings[index].size(self.surface)
        return self.prefixes[index] + self.surface.read(self.surface.spell(tokens)[size:])
