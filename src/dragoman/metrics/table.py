"""The table of metrics: the function of each name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sacrebleu.metrics.base import Metric

from dragoman.metrics import bleu, chrf, ter
from dragoman.metrics.confusion import macro_f1
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.google_gleu import google_gleu
from dragoman.metrics.measured import Measured
from dragoman.metrics.napoles_gleu import napoles_gleu
from dragoman.metrics.rouge import rouge_1, rouge_2, rouge_l
from dragoman.metrics.span_f1 import span_f1
from dragoman.metrics.tags import tag_accuracy

Measure = Callable[..., Measured]  # of the outputs and one or more references

# Made for the references, whose script says what BLEU's tokens are.
BY_SACREBLEU: dict[str, Callable[..., Metric]] = {
    "bleu": bleu.metric,
    "chrf": chrf.metric,
    "ter": ter.metric,
}

MEASURES: dict[str, Measure] = {
    "exact_match": exact_match,
    "wer": wer,
    "cer": cer,
    "rouge_1": rouge_1,
    "rouge_2": rouge_2,
    "rouge_l": rouge_l,
    "google_gleu": google_gleu,
}

# They take one reference: a tag or a label is right or wrong.
OF_LABELS: dict[str, Measure] = {
    "accuracy": exact_match,
    "macro_f1": macro_f1,
    "tag_accuracy": tag_accuracy,
    "span_f1": span_f1,
}

# They take the sources first.
OF_SOURCES: dict[str, Measure] = {"napoles_gleu": napoles_gleu}


def measure_of(name: str, sources: Sequence[str]) -> Measure:
    """Return the function of a metric that is not sacreBLEU's."""
    if name in OF_SOURCES:
        return partial(OF_SOURCES[name], sources)
    return {**MEASURES, **OF_LABELS}[name]
