"""Δ: how far one output is from one reference, 0 where they agree. What minimum-risk training minimises."""

from __future__ import annotations

from collections.abc import Callable

from sacrebleu.metrics.bleu import BLEU

from dragoman.metrics import chrf
from dragoman.metrics.error_rates import cer, wer

Distance = Callable[[str, str], float]  # (output, reference)


def bleu_distance() -> Distance:
    """1 − BLEU of the sentence, over the orders of n-grams that it has."""
    metric = BLEU(effective_order=True, force=True)
    return lambda output, reference: 1.0 - float(metric.sentence_score(output, [reference]).score) / 100.0


def chrf_distance() -> Distance:
    """1 − chrF of the sentence."""
    metric = chrf.metric()
    return lambda output, reference: 1.0 - float(metric.sentence_score(output, [reference]).score) / 100.0


def wer_distance() -> Distance:
    """Edits of words over the words of the reference."""
    return lambda output, reference: wer([output], [reference]).value


def cer_distance() -> Distance:
    """Edits of characters over the characters of the reference."""
    return lambda output, reference: cer([output], [reference]).value


DISTANCES: dict[str, Callable[[], Distance]] = {
    "bleu": bleu_distance,
    "chrf": chrf_distance,
    "wer": wer_distance,
    "cer": cer_distance,
}
