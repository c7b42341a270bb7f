"""The interface of tasks whose models say how likely a given text is. It is imported without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

from dragoman.data.pair import Pair
from dragoman.metrics.report import ScoreReport


@runtime_checkable
class ScoresText(Protocol):
    """A task of texts that are not compared with an answer."""

    def score_text(
        self,
        answerer: Callable[..., Any],
        pairs: Iterable[Pair],
        *,
        context: int | None = None,
        stride: int | None = None,
    ) -> ScoreReport:
        """Return the figures of the targets, in windows of `context` tokens that begin every `stride`."""

    def token_scores(self, answerer: Callable[..., Any], line: str) -> list[tuple[str, float]]:
        """Return the tokens of a line and their log p."""
