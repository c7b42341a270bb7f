"""What a translator knows about its outputs: how long they may be, how sure it is, what to look at twice."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.search import SearchConfig
from dragoman.inference.flags import Limits, Seen, raised
from dragoman.models.calibration import Calibration
from dragoman.search.company import longest_alike
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.loops import LoopBounds, shortest_loop
from dragoman.search.runaway import OutputBounds, bounds_of, turns_of
from dragoman.text.pair import TextPair


class Judge:
    """`bounds` are those of the calibration, unless others are given. Without any, nothing is cut."""

    def __init__(
        self, text: TextPair, calibration: Calibration | None, bounds: OutputBounds | None = None
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
        return LoopBounds(shortest_loop(self.text.tgt.kind), self.bounds.turns)

    def bounded(self, config: SearchConfig, source: int) -> SearchConfig:
        """The search for so long a source: under the guard no output is far longer, unless it must."""
        longest = self.longest(config, source)
        return config.model_copy(update={"max_length": longest}) if longest < config.max_length else config

    def longest(self, config: SearchConfig, source: int) -> int:
        """Tokens of an output for so long a source; all that may share a batch with it have one bound."""
        if not config.guard or self.bounds is None:
            return config.max_length
        longest = self.bounds.longest_output(longest_alike(source))
        return min(config.max_length, max(longest, config.min_length + 1))

    def confidence(self, best: Hypothesis) -> float | None:
        """From what the search knows anyway; None before a calibration."""
        tokens = len(best.tokens) + best.finished
        return self.calibration.confidence(best.log_p, tokens) if self.calibration else None

    def flags(
        self, source: str, src: Sequence[int], output: str, best: Hypothesis, *, truncated: bool
    ) -> tuple[str, ...]:
        turns = self.turns(src, best.tokens)
        return raised(Seen(source, output, truncated, turns, self.confidence(best)), self.limits)

    def turns(self, src: Sequence[int], tgt: Sequence[int]) -> tuple[int, int]:
        """Of the longest loop of each side; the source is looked at where the target has one."""
        return turns_of(src, tgt, *shortest_loops(self.text))


def ran_away(config: SearchConfig, best: Hypothesis) -> bool:
    """Whether the guard ended an output that nothing else would have ended there."""
    return not best.finished and len(best.tokens) < config.max_length


def shortest_loops(text: TextPair) -> tuple[int, int]:
    """How many tokens of each side make a loop."""
    return shortest_loop(text.src.kind), shortest_loop(text.tgt.kind)


def learn_bounds(text: TextPair, ids: Sequence[tuple[Sequence[int], Sequence[int]]]) -> OutputBounds:
    """From the ids of sources and references, none of them empty."""
    return bounds_of(ids, *shortest_loops(text))
