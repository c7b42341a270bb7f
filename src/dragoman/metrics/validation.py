"""The metrics of a validation during training, in the order in which they are shown."""

from __future__ import annotations

from typing import Literal, TypedDict

Metric = Literal["chrf", "bleu", "exact_match", "accuracy", "span_f1", "macro_f1", "intent", "cer", "wer"]
METRICS: tuple[Metric, ...] = (
    "chrf",
    "bleu",
    "exact_match",
    "accuracy",
    "span_f1",
    "macro_f1",
    "intent",
    "cer",
    "wer",
)
LOWER_IS_BETTER: tuple[Metric, ...] = ("cer", "wer")
STRICT: tuple[Metric, ...] = ("bleu", "exact_match")  # 0 if no word is correct


class Metrics(TypedDict, total=False):
    """In percent; none if nothing was decoded."""

    chrf: float
    bleu: float
    exact_match: float
    accuracy: float  # of tags or classes
    span_f1: float
    macro_f1: float
    intent: float  # accuracy of the class of a tagged sentence
    cer: float
    wer: float
