"""What a translator knows about its outputs: how long they may be, how sure it is, what to look at twice."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.search import SearchConfig
from dragoman.inference.flags import Limits, Seen, raised
from dragoman.models.calibration import Calibration
from dragoman.search.company import shortest_alike
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.loops import TURNS, may_loop, most_turns, shortest_loop
from dragoman.search.runaway import longest_output
from dragoman.text.pair import TextPair


class Judge:
    def __init__(self, text: TextPair, calibration: Calibration | None) -> None:
        self.text = text
        self.calibration = calibration
        self.limits = Limits()
        if calibration:
            bounds = calibration.shortest, calibration.longest, calibration.doubt
            self.limits = Limits(*bounds, frozenset(calibration.muted))

    @property
    def shortest_loop(self) -> int:
        return shortest_loop(self.text.tgt.kind)

    def bounded(self, config: SearchConfig, source: int) -> SearchConfig:
        """The search for so long a source: under the guard no output is far longer, unless it must."""
        longest = self.longest(config, source)
        return config.model_copy(update={"max_length": longest}) if longest < config.max_length else config

    def longest(self, config: SearchConfig, source: int) -> int:
        """Tokens of an output for so long a source; all that may share a batch with it have one bound."""
        if not config.guard:
            return config.max_length
        longest = longest_output(shortest_alike(source), self.text.src.kind, self.text.tgt.kind)
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
        turns = most_turns(tgt, self.shortest_loop) if may_loop(tgt, TURNS) else 1
        return most_turns(src, shortest_loop(self.text.src.kind)) if turns >= TURNS else 1, turns
