"""Transcription: the order of the source, but another timing, by CTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.data.collate import IdPair, collate
from dragoman.data.examples import TokenIds
from dragoman.data.pair import Pair
from dragoman.data.signals.build import build_signals
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.report import ScoreReport, as_compared, check
from dragoman.metrics.validation import Metrics
from dragoman.models.bundle import Bundle
from dragoman.models.calibration import Calibration
from dragoman.protocols import Batch
from dragoman.tasks.task import Answerer

RATES = {"cer": cer, "wer": wer, "exact_match": exact_match}


@dataclass(frozen=True)
class Transcribe:
    config: Config

    def collate(self, rows: Sequence[IdPair]) -> Batch:
        return collate(rows)

    def answerer(self, bundle: Bundle, valid: Sequence[TokenIds] = ()) -> CTCRuntime:
        source = self.config.data.source
        if isinstance(source, TextSource):
            return CTCRuntime(bundle, bundle.text.read)
        read_file = build_signals(source).read_file
        return CTCRuntime(bundle, lambda files: [read_file(Path(file)) for file in files])

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

    def calibrate(self, answerer: Answerer, pairs: Sequence[Pair]) -> Calibration | None:
        return None  # CTC returns p(text | source) itself

    def _compared(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool
    ) -> tuple[list[str], list[str]]:
        check(outputs, references)
        return as_compared(outputs, lowercase=lowercase), as_compared(references, lowercase=lowercase)
