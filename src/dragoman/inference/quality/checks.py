"""Checks of a model's outputs: their maximum length, confidence and flags."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dragoman.config.search import SearchConfig
from dragoman.inference.quality.flags import Limits
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
    """The length bounds, confidence and flags of a model's outputs.

    `bounds` override those of the calibration. Without either, no output is cut.
    """

    def __init__(
        self, text: TokenizerPair, calibration: Calibration | None, bounds: OutputBounds | None = None
    ) -> None:
        self.text = text
        self.calibration = calibration
        self.bounds = bounds or (calibration.bounds if calibration else None)
        self.limits = Limits()
        if calibration:
            lowest = -math.inf if calibration.lowest is None else calibration.lowest
            limits = calibration.shortest, calibration.longest, lowest
            self.limits = Limits(*limits, frozenset(calibration.muted))

    def loops(self, config: SearchConfig) -> LoopBounds | None:
        """Return the bounds of the loops that the guard cuts; None if it cuts none."""
        if not config.guard or self.bounds is None or self.bounds.repeats is None:
            return None
        return LoopBounds(min_loop_tokens(self.text.tgt.kind), self.bounds.repeats)

    def bounded(self, config: SearchConfig, source: int) -> SearchConfig:
        """Return `config` with max_length lowered to what the guard allows for `source` tokens."""
        longest = self.longest(config, source)
        return config.model_copy(update={"max_length": longest}) if longest < config.max_length else config

    def longest(self, config: SearchConfig, source: int) -> int:
        """Return the maximum output length for a source of `source` tokens.

        Sources that may share a batch have the same maximum.
        """
        if not config.guard or self.bounds is None:
            return config.max_length
        longest = self.bounds.longest_output(longest_with_same_padding(source))
        return min(config.max_length, max(longest, config.min_length + 1))

    def confidence(self, mean_log_p: float) -> float | None:
        """Return the confidence in an output, from its mean log p; None without a calibration."""
        return self.calibration.confidence(mean_log_p) if self.calibration else None

    def repeats(self, src: Sequence[int], tgt: Sequence[int]) -> tuple[int, int]:
        """Return the repetitions of the longest loop in the source and in the target.

        The source is searched only if the target has a loop.
        """
        return repeats_of(src, tgt, *min_loop_tokens_of(self.text))


def ran_away(config: SearchConfig, best: Hypothesis) -> bool:
    """Return whether the length bound of the guard, and nothing else, ended this output."""
    return not best.finished and len(best.tokens) < config.max_length


def min_loop_tokens_of(text: TokenizerPair) -> tuple[int, int]:
    """Return the minimum length of a loop in tokens, for each side."""
    return min_loop_tokens(text.src.kind), min_loop_tokens(text.tgt.kind)


def learn_output_bounds(
    text: TokenizerPair, ids: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> OutputBounds:
    """Fit the bounds to the ids of sources and references, none of which is empty."""
    return fit_output_bounds(ids, *min_loop_tokens_of(text))
