"""Outputs that write, or avoid, given tokens at given steps: what would follow another decision?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dragoman.errors import UsageError
from dragoman.text.specials import BOS, EOS, PAD
from dragoman.text.token_automaton import ANY_TOKEN, AllowedTokens
from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class StepTokens:
    """Steps count from 0, tokens are entries of the vocabulary of the outputs, as in `Result.tokens`.

    `write` has the token of a step, `avoid` the tokens that a step may not write. An output does not end
    before the last step of `write`.
    """

    write: Mapping[int, int] = field(default_factory=dict)
    avoid: Mapping[int, Collection[int]] = field(default_factory=dict)


class StepAutomaton:
    """An automaton whose state is the number of tokens so far, up to the last step that has a rule."""

    def __init__(self, rules: StepTokens, tokenizer: Tokenizer) -> None:
        refuse_unwritable(rules, tokenizer)
        self._rules = rules
        self._free = 1 + max((*rules.write, *rules.avoid), default=-1)
        self._last_written = max(rules.write, default=-1)

    def start(self, sentence: int) -> int:
        return 0

    def after(self, state: int, token: int) -> int:
        return min(state + 1, self._free)

    def choice(self, state: int) -> AllowedTokens:
        if state in self._rules.write:
            return AllowedTokens((self._rules.write[state],), only=True)
        avoided = {*self._rules.avoid.get(state, ()), *((EOS,) if state < self._last_written else ())}
        return AllowedTokens(tuple(sorted(avoided)), only=False) if avoided else ANY_TOKEN


def refuse_unwritable(rules: StepTokens, tokenizer: Tokenizer) -> None:
    """Raise UsageError if a rule has a step before the first, or a token that no output can have."""
    rows = [*((step, (token,)) for step, token in rules.write.items()), *rules.avoid.items()]
    for step, tokens in rows:
        for token in tokens:
            if step < 0 or not 0 <= token < tokenizer.size or token in (PAD, BOS):
                raise UsageError(
                    f"Step {step} of an output cannot write the token {token}.",
                    where="steps",
                    expected=f"steps from 0 on, and tokens below {tokenizer.size:,} other than <pad> and <s>",
                    hint="model(text).tokens are the tokens of an output.",
                )
