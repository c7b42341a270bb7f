"""Transcription: the order of the source, but another timing, by CTC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.data.padding import SourceRow
from dragoman.data.signals.build import build_signals
from dragoman.data.signals.corpus import Signals
from dragoman.inference.runtimes.ctc import ReadRows
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.report import ScoreReport, as_compared, check
from dragoman.metrics.validation import Metrics
from dragoman.text.tokenizer_pair import TokenizerPair

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


def build_reader(config: Config, text: TokenizerPair) -> ReadRows:
    """Return how inputs, which are texts or names of files, become rows."""
    source = config.data.source
    return text.read if isinstance(source, TextSource) else partial(read_files, build_signals(source))


def read_files(signals: Signals, files: Sequence[str]) -> list[SourceRow]:
    return [signals.read_file(Path(file)) for file in files]
