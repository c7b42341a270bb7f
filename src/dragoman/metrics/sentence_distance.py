"""Distances Δ of an output from its reference, 0 if they agree: the cost in minimum-risk training."""

from __future__ import annotations

from collections.abc import Callable

from sacrebleu.metrics.bleu import BLEU

from dragoman.metrics import chrf
from dragoman.metrics.error_rates import cer, wer

Distance = Callable[[str, str], float]  # (output, reference)


def bleu_distance() -> Distance:
    """Return 1 − sentence BLEU over the n-gram orders that the output has (effective order)."""
    metric = BLEU(effective_order=True, force=True)
    return lambda output, reference: 1.0 - float(metric.sentence_score(output, [reference]).score) / 100.0


def chrf_distance() -> Distance:
    """Return 1 − sentence chrF."""
    metric = chrf.metric()
    return lambda output, reference: 1.0 - float(metric.sentence_score(output, [reference]).score) / 100.0


def wer_distance() -> Distance:
    """Return word edits divided by the words of the reference."""
    return lambda output, reference: wer([output], [reference]).value


def cer_distance() -> Distance:
    """Return character edits divided by the characters of the reference."""
    return lambda output, reference: cer([output], [reference]).value


DISTANCES: dict[str, Callable[[], Distance]] = {
    "bleu": bleu_distance,
    "chrf": chrf_distance,
    "wer": wer_distance,
    "cer": cer_distance,
}
