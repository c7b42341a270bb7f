"""Translation: many to many, in any order, by an encoder, a decoder and a search over its steps.

Sources that are not text are described instead: captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.config.root import Config
from dragoman.metrics.report import ScoreReport, score, values
from dragoman.metrics.validation import Metrics


@dataclass(frozen=True)
class Translate:
    config: Config

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        found = values(outputs, references, lowercase=self.config.text.lowercase)
        return {"bleu": found["bleu"], "chrf": found["chrf"], "exact_match": found["exact_match"]}

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        return score(outputs, references, lowercase=lowercase)
