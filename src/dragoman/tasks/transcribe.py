"""Transcription: the order of the source, but another timing, by CTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.config.root import Config
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.report import ScoreReport, as_compared, check
from dragoman.metrics.validation import Metrics

RATES = {"cer": cer, "wer": wer, "exact_match": exact_match}


@dataclass(frozen=True)
class Transcribe:
    config: Config

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        sides = self._compared(outputs, references, lowercase=self.config.text.lowercase)
        return {
            "cer": cer(*sides).percent,
            "wer": wer(*sides).percent,
            "exact_match": exact_match(*sides).percent,
        }

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        sides = self._compared(outputs, references, lowercase=lowercase)
        return ScoreReport({name: rate(*sides).score() for name, rate in RATES.items()}, len(references))

    def _compared(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool
    ) -> tuple[list[str], list[str]]:
        check(outputs, references)
        return as_compared(outputs, lowercase=lowercase), as_compared(references, lowercase=lowercase)
