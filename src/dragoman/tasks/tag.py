"""Tagging: a tag for each word, in step; and, jointly, a label for the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from dragoman.config.root import Config
from dragoman.data.collate import IdPair
from dragoman.data.examples import TokenIds
from dragoman.data.pair import Pair
from dragoman.data.readers.tagged import LABEL, words_of
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.ratio_metric import RatioMetric
from dragoman.metrics.report import ScoreReport, check
from dragoman.metrics.span_f1 import PREFIXES, span_f1
from dragoman.metrics.tags import tag_accuracy
from dragoman.metrics.validation import Metrics
from dragoman.models.bundle import Bundle
from dragoman.models.calibration import Calibration
from dragoman.models.tagger import JointTagger, Tagger
from dragoman.protocols import Batch
from dragoman.tasks import words
from dragoman.tasks.task import Answerer


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


class TagAnswerer:
    def __init__(self, bundle: Bundle) -> None:
        self.model = cast("Tagger | JointTagger", bundle.model)
        self.tokenizer = bundle.text.tgt
        self.lines = words.LineBatches(bundle)

    @torch.no_grad()
    def __call__(self, texts: Sequence[str]) -> list[TaggedLine]:
        found = [TaggedLine() for _ in texts]
        for batch in self.lines(texts):
            (ids, p), labels = self.model.tags(batch.src, batch.keep)
            best = (
                [] if labels is None else list(zip(*(x.tolist() for x in labels.p.max(dim=1)), strict=True))
            )
            weights = None if labels is None or labels.weights is None else labels.weights.tolist()
            for row, index in enumerate(batch.indices):
                line = words_of(texts[index])
                each = weights[row] if weights else [None] * len(line)
                tags = [self.tokenizer.piece(id) for id in ids[row].tolist()]
                tagged = map(TaggedWord, line, tags, p[row].tolist(), each)
                found[index] = TaggedLine(tuple(tagged))
                if best:
                    label_p, id = best[row]
                    label = self.tokenizer.piece(int(id)).removeprefix(LABEL)
                    found[index] = TaggedLine(found[index].words, label, label_p)
        return found


@dataclass(frozen=True)
class Tag:
    config: Config

    def collate(self, rows: Sequence[IdPair]) -> Batch:
        return words.collate(self.config, rows)

    def answerer(self, bundle: Bundle, valid: Sequence[TokenIds] = ()) -> TagAnswerer:
        return TagAnswerer(bundle)

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

    def calibrate(self, answerer: Answerer, pairs: Sequence[Pair]) -> Calibration | None:
        return None


def are_spans(references: Sequence[str]) -> bool:
    """Return whether all tags are O or a prefix and a type, such as B-LOC."""
    tags = {tag for line in references for tag in line.split()} - {"O"}
    return bool(tags) and all(tag.partition("-")[0] in PREFIXES and "-" in tag for tag in tags)
