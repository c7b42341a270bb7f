"""What a translator knows about its outputs: how long they may be, how sure it is, what to look at twice."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.search import SearchConfig
from dragoman.inference.quality.flags import FlagInput, Limits, compute_flags
from dragoman.models.calibration import Calibration
from dragoman.search.batch_invariance import longest_with_same_padding
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.repetition import (
    LoopBounds,
    OutputBounds,
    fit_output_bounds,
    min_loop_tokens,
    repeats_of,
)
from dragoman.text.tokenizer_pair import TokenizerPair


class OutputChecker:
    """`bounds` are those of the calibration, unless others are given. Without any, nothing is cut."""

    def __init__(
        self, text: TokenizerPair, calibration: Calibration | None, bounds: OutputBounds | None = None
    ) -> None:
        self.text = text
        self.calibration = calibration
        self.bounds = bounds or (calibration.bounds if calibration else None)
        self.limits = Limits()
        if calibration:
            limits = calibration.shortest, calibration.longest, calibration.doubt
            self.limits = Limits(*limits, frozenset(calibration.muted))

    def loops(self, config: SearchConfig) -> LoopBounds | None:
        """Those that the guard cuts."""
        if not config.guard or self.bounds is None or self.bounds.turns is None:
            return None
        return LoopBounds(min_loop_tokens(self.text.tgt.kind), self.bounds.turns)

    def bounded(self, config: SearchConfig, source: int) -> SearchConfig:
        """The search for so long a source: under the guard no output is far longer, unless it must."""
        longest = self.longest(config, source)
        return config.model_copy(update={"max_length": longest}) if longest < config.max_length else config

    def longest(self, config: SearchConfig, source: int) -> int:
        """Tokens of an output for so long a source; all that may share a batch with it have one bound."""
        if not config.guard or self.bounds is None:
            return config.max_length
        longest = self.bounds.longest_output(longest_with_same_padding(source))
        return min(config.max_length, max(longest, config.min_length + 1))

    def confidence(self, best: Hypothesis) -> float | None:
        """From what the search knows anyway; None before a calibration."""
        tokens = len(best.tokens) + best.finished
        return self.calibration.confidence(best.log_p, tokens) if self.calibration else None

    def flags(
        self, source: str, src: Sequence[int], output: str, best: Hypothesis, *, truncated: bool
    ) -> tuple[str, ...]:
        turns = self.turns(src, best.tokens)
        return compute_flags(FlagInput(source, output, truncated, turns, self.confidence(best)), self.limits)

    def turns(self, src: Sequence[int], tgt: Sequence[int]) -> tuple[int, int]:
        """Of the longest loop of each side; the source is looked at where the target has one."""
        return repeats_of(src, tgt, *min_loop_tokens_of(self.text))


def ran_away(config: SearchConfig, best: Hypothesis) -> bool:
    """Whether the guard ended an output that nothing else would have ended there."""
    return not best.finished and len(best.tokens) < config.max_length


def min_loop_tokens_of(text: TokenizerPair) -> tuple[int, int]:
    """How many tokens of each side make a loop."""
    return min_loop_tokens(text.src.kind), min_loop_tokens(text.tgt.kind)


def learn_output_bounds(
    text: TokenizerPair, ids: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> OutputBounds:
    """From the ids of sources and references, none of them empty."""
    return fit_output_bounds(ids, *min_loop_tokens_of(text))
