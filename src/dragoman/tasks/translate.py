"""Translation: many to many, in any order, by an encoder, a decoder and a search over its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from dragoman.config.root import Config
from dragoman.data.collate import IdPair, collate
from dragoman.data.examples import TokenIds
from dragoman.data.pair import Pair
from dragoman.inference.quality.checks import learn_output_bounds
from dragoman.inference.quality.confidence import calibrate
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.metrics.report import ScoreReport, score, values
from dragoman.metrics.validation import Metrics
from dragoman.models.bundle import Bundle
from dragoman.models.calibration import Calibration
from dragoman.protocols import Batch
from dragoman.tasks.task import Answerer


@dataclass(frozen=True)
class Translate:
    config: Config

    def collate(self, rows: Sequence[IdPair]) -> Batch:
        return collate(rows)

    def answerer(self, bundle: Bundle, valid: Sequence[TokenIds] = ()) -> TorchRuntime:
        return TorchRuntime(bundle, bounds=learn_output_bounds(bundle.text, valid) if valid else None)

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        found = values(outputs, references, lowercase=self.config.text.lowercase)
        return {"bleu": found["bleu"], "chrf": found["chrf"], "exact_match": found["exact_match"]}

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        return score(outputs, references, lowercase=lowercase)

    def calibrate(self, answerer: Answerer, pairs: Sequence[Pair]) -> Calibration:
        runtime = cast(TorchRuntime, answerer)
        return calibrate(runtime, pairs, runtime.checker.bounds)
