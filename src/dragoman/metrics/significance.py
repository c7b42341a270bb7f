"""Significance of the difference between two systems: the paired bootstrap (Koehn 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.base import Metric

from dragoman.metrics import bleu, chrf
from dragoman.metrics.bootstrap import p_value
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.ratio_metric import RatioMetric
from dragoman.metrics.report import check
from dragoman.metrics.sacrebleu_bootstrap import bootstrapped


class Comparison(NamedTuple):
    metric: str
    baseline: float
    system: float
    p_value: float


def compare(
    system: Sequence[str], baseline: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> list[Comparison]:
    """Compare the system with the baseline on the same sentences, one result per metric."""
    check(system, references)
    check(baseline, references)
    by_sacrebleu = [
        _by_sacrebleu("bleu", bleu.metric(lowercase=lowercase), system, baseline, references),
        _by_sacrebleu("chrf", chrf.metric(lowercase=lowercase), system, baseline, references),
    ]
    if lowercase:
        system, baseline, references = ([x.lower() for x in side] for side in (system, baseline, references))
    ours = {"exact_match": exact_match, "wer": wer, "cer": cer}
    return by_sacrebleu + [
        _by_counts(name, measure(system, references), measure(baseline, references))
        for name, measure in ours.items()
    ]


def _by_sacrebleu(
    name: str, metric: Metric, system: Sequence[str], baseline: Sequence[str], references: Sequence[str]
) -> Comparison:
    before, after = bootstrapped(metric, [baseline, system], references)
    # For equal scores sacreBLEU returns p = 1/1001, since it counts only differences above the observed one.
    p = 1.0 if before.score == after.score else float(after.p_value or 1.0)
    return Comparison(name, float(before.score), float(after.score), p)


def _by_counts(name: str, system: RatioMetric, baseline: RatioMetric) -> Comparison:
    p = p_value(system.samples() - baseline.samples(), system.percent - baseline.percent)
    return Comparison(name, baseline.percent, system.percent, p)
