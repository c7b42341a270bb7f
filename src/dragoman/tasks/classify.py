"""Classification: one label for a whole line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from dragoman.config.root import Config
from dragoman.data.collate import IdPair
from dragoman.data.examples import TokenIds
from dragoman.data.pair import Pair
from dragoman.data.readers.tagged import words_of
from dragoman.metrics.confusion import macro_f1, macro_f1_of
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.report import ScoreReport, check
from dragoman.metrics.validation import Metrics
from dragoman.models.bundle import Bundle
from dragoman.models.calibration import Calibration
from dragoman.models.classifier import Classifier
from dragoman.protocols import Batch
from dragoman.tasks import words
from dragoman.tasks.task import Answerer
from dragoman.text.specials import EOS

SHOWN = 5  # most likely labels


@dataclass(frozen=True)
class Label:
    """The most likely labels of a line, best first, and how much each of its tokens counts."""

    labels: tuple[tuple[str, float], ...] = ()  # with their probabilities
    weights: tuple[tuple[str, float], ...] = ()  # of the tokens; none if the pooling has none

    @property
    def text(self) -> str:
        return self.labels[0][0] if self.labels else ""

    @property
    def p(self) -> float:
        return self.labels[0][1] if self.labels else 0.0

    def judged(self, reference: str) -> list[tuple[float, bool]]:
        return [(self.p, self.text == reference)]

    def asdict(self) -> dict[str, Any]:
        others = [{"label": label, "p": p} for label, p in self.labels[1:]]
        each = [{"token": token, "weight": weight} for token, weight in self.weights]
        return {"text": self.text, "p": self.p, "others": others, "weights": each}


class LabelAnswerer:
    def __init__(self, bundle: Bundle) -> None:
        self.model = cast(Classifier, bundle.model)
        self.text = bundle.text
        self.is_word = bundle.config.text.src_units.kind in ("word", "spelled")
        self.lines = words.LineBatches(bundle)

    @torch.no_grad()
    def __call__(self, texts: Sequence[str]) -> list[Label]:
        found = [Label() for _ in texts]
        for batch in self.lines(texts):
            p, weights = self.model.labels(batch.src, batch.keep)
            best, ids = p.topk(min(SHOWN, p.shape[1]), dim=1)
            for row, index in enumerate(batch.indices):
                names = [self.text.tgt.piece(id) for id in ids[row].tolist()]
                labels = zip(names, best[row].tolist(), strict=True)
                each = () if weights is None else self.weighted(texts[index], weights[row].tolist())
                found[index] = Label(tuple(pair for pair in labels if pair[1] > 0), tuple(each))
        return found

    def weighted(self, text: str, weights: Sequence[float]) -> list[tuple[str, float]]:
        """Return the weight of each token, the last of which is </s>."""
        line = words_of(text)
        if not self.is_word:
            line = [self.text.src.piece(id) for id in self.text.src.encode(" ".join(line))]
        return list(zip([*line, self.text.src.piece(EOS)], weights, strict=False))


@dataclass(frozen=True)
class Classify:
    config: Config

    def collate(self, rows: Sequence[IdPair]) -> Batch:
        return words.collate(self.config, rows)

    def answerer(self, bundle: Bundle, valid: Sequence[TokenIds] = ()) -> LabelAnswerer:
        return LabelAnswerer(bundle)

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        return {
            "accuracy": exact_match(outputs, references).percent,
            "macro_f1": macro_f1_of(macro_f1(outputs, references).counts()),
        }

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        check(outputs, references)
        scores = {
            "accuracy": exact_match(outputs, references).score(),
            "macro_f1": macro_f1(outputs, references).score(),
        }
        return ScoreReport(scores, len(references))

    def calibrate(self, answerer: Answerer, pairs: Sequence[Pair]) -> Calibration | None:
        return None
