"""Classification: one label for a whole line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.config.root import Config
from dragoman.inference.array_network import ArrayNetwork
from dragoman.metrics.confusion import macro_f1, macro_f1_of
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.report import ScoreReport, check
from dragoman.metrics.validation import Metrics
from dragoman.tasks.examples import reads_words
from dragoman.tasks.lines import LineBatches
from dragoman.text.running_words import words_of
from dragoman.text.specials import EOS
from dragoman.text.tokenizer_pair import TokenizerPair

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
    """A classifier, ready to answer."""

    def __init__(self, network: ArrayNetwork, config: Config, text: TokenizerPair) -> None:
        self.network = network
        self.text = text
        self.is_word = reads_words(config)
        self.lines = LineBatches(config, text)

    def __call__(self, texts: Sequence[str]) -> list[Label]:
        found = [Label() for _ in texts]
        for batch in self.lines(texts):
            outputs = self.network(batch.src, batch.keep)
            best = np.argsort(-outputs["p"], axis=1, kind="stable")[:, :SHOWN]
            for row, index in enumerate(batch.indices):
                p = outputs["p"][row, best[row]].tolist()
                labels = zip(map(self.text.tgt.piece, best[row].tolist()), p, strict=True)
                each = self.weighted(texts[index], outputs["weights"][row]) if "weights" in outputs else ()
                found[index] = Label(tuple(pair for pair in labels if pair[1] > 0), tuple(each))
        return found

    def weighted(self, text: str, weights: NDArray[np.floating]) -> list[tuple[str, float]]:
        """Return the weight of each token, the last of which is </s>."""
        ids = () if self.is_word else self.text.src.encode(text)
        line = words_of(text) if self.is_word else list(map(self.text.src.piece, ids))
        return list(zip([*line, self.text.src.piece(EOS)], weights.tolist(), strict=False))


@dataclass(frozen=True)
class Classify:
    config: Config

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
