"""Language models: the text itself, token by token, in lines or in blocks of running text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from dragoman.config.root import Config
from dragoman.data.pair import Pair
from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.text_scoring import Sliding, TextScorer
from dragoman.metrics.report import ScoreReport, score
from dragoman.metrics.text_score import report
from dragoman.metrics.validation import Metrics
from dragoman.tasks.task import Answerer


@dataclass(frozen=True)
class LanguageModelling:
    config: Config

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        """Return nothing: a continuation is not right or wrong, and the loss says how likely a text is."""
        return {}

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        return score(outputs, references, lowercase=lowercase)

    def score_text(
        self,
        answerer: Answerer,
        pairs: Iterable[Pair],
        *,
        context: int | None = None,
        stride: int | None = None,
    ) -> ScoreReport:
        """Return how likely a text is: perplexity, and bits per character.

        By default windows have the length of training, and half a window of context.
        """
        scorer = self.scorer(answerer, context, stride)
        lines = (pair.tgt for pair in pairs)
        is_running = self.config.data.block_size is not None
        return report(list(scorer.score_running(lines) if is_running else scorer.score_lines(lines)))

    def token_scores(self, answerer: Answerer, line: str) -> list[tuple[str, float]]:
        scorer = self.scorer(answerer)
        if self.config.data.block_size:
            found = list(scorer.tokens(scorer.tokenizer.encode(line)))
        else:
            _, found = next(scorer.lines([line]))
        return [(scorer.tokenizer.piece(token), p) for token, p in found]

    def scorer(self, answerer: Answerer, context: int | None = None, stride: int | None = None) -> TextScorer:
        runtime = cast(ContinuationRuntime, answerer)
        most = self.config.data.block_size or self.config.model.longest_target
        size = min(context or most, self.config.model.longest_target)
        sliding = Sliding(size, min(stride or -(-size // 2), size))
        return TextScorer(runtime.log_p, runtime.text.tgt, sliding)
