"""Tagging: a tag for each word, in step; and, jointly, a label for the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.config.root import Config
from dragoman.data.readers.tagged import LABEL
from dragoman.inference.array_network import ArrayNetwork
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.ratio_metric import RatioMetric
from dragoman.metrics.report import ScoreReport, check
from dragoman.metrics.span_f1 import PREFIXES, span_f1
from dragoman.metrics.tags import tag_accuracy
from dragoman.metrics.validation import Metrics
from dragoman.search.tags import best_tags, chain_of
from dragoman.tasks.lines import LineBatches
from dragoman.text.running_words import words_of
from dragoman.text.tokenizer_pair import TokenizerPair


@dataclass(frozen=True)
class TaggedWord:
    word: str
    tag: str
    p: float
    weight: float | None = None  # of the word in the label


@dataclass(frozen=True)
class TaggedLine:
    """The tags of a line, and its label if the model gives one."""

    words: tuple[TaggedWord, ...] = ()
    label: str | None = None
    label_p: float | None = None

    @property
    def text(self) -> str:
        tags = [word.tag for word in self.words]
        return " ".join(tags if self.label is None else [LABEL + self.label, *tags])

    def judged(self, reference: str) -> list[tuple[float, bool]]:
        tags = words_of(reference)[self.label is not None :]
        return [(word.p, word.tag == tag) for word, tag in zip(self.words, tags, strict=True)]

    def asdict(self) -> dict[str, Any]:
        found = [{name: value for name, value in vars(w).items() if value is not None} for w in self.words]
        label = {} if self.label is None else {"label": self.label, "label_p": self.label_p}
        return {"text": self.text, **label, "words": found}


NOT_READ = "_"  # the tag of a word beyond the longest line that the model reads


class TagAnswerer:
    """A tagger, ready to answer."""

    def __init__(self, network: ArrayNetwork, config: Config, text: TokenizerPair) -> None:
        self.network = network
        self.tokenizer = text.tgt
        self.lines = LineBatches(config, text)

    def __call__(self, texts: Sequence[str]) -> list[TaggedLine]:
        found = [TaggedLine() for _ in texts]
        for batch in self.lines(texts):
            outputs = self.network(batch.src, batch.keep)
            ids, p = best_tags(outputs["scores"], batch.keep[:, 1:], chain_of(outputs))
            for row, index in enumerate(batch.indices):
                line = words_of(texts[index])
                weights = outputs["weights"][row].tolist() if "weights" in outputs else [None] * len(line)
                tags = map(self.tokenizer.piece, ids[row].tolist())
                words = tuple(map(TaggedWord, line, tags, p[row].tolist(), weights))
                words += tuple(TaggedWord(word, NOT_READ, 0.0) for word in line[len(words) :])
                found[index] = TaggedLine(words, *self.label(outputs["p"][row]) if "p" in outputs else ())
        return found

    def label(self, p: NDArray[np.floating]) -> tuple[str, float]:
        """Return the best label of a line, and its probability."""
        id = int(p.argmax())
        return self.tokenizer.piece(id).removeprefix(LABEL), float(p[id])


@dataclass(frozen=True)
class Tag:
    config: Config

    def metrics(self, outputs: Sequence[str], references: Sequence[str]) -> dict[str, RatioMetric]:
        """Return accuracy, span F₁ if the tags are those of spans, and the accuracy of labels."""
        check(outputs, references)
        found: dict[str, RatioMetric] = {}
        if all(reference.startswith(LABEL) for reference in references):
            pairs = [[line.partition(" ") for line in side] for side in (outputs, references)]
            found["intent"] = exact_match(*([label for label, _, _ in side] for side in pairs))
            outputs, references = ([tags for _, _, tags in side] for side in pairs)
        if are_spans(references):
            found["span_f1"] = span_f1(outputs, references)
        return {"accuracy": tag_accuracy(outputs, references), **found}

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        found = {name: metric.percent for name, metric in self.metrics(outputs, references).items()}
        return cast(Metrics, found)

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        scores = {name: metric.score() for name, metric in self.metrics(outputs, references).items()}
        scores["exact_match"] = exact_match(outputs, references).score()
        return ScoreReport(scores, len(references))


def are_spans(references: Sequence[str]) -> bool:
    """Return whether all tags are O or a prefix and a type, such as B-LOC."""
    tags = {tag for line in references for tag in words_of(line)} - {"O"}
    return bool(tags) and all(tag.partition("-")[0] in PREFIXES and "-" in tag for tag in tags)
