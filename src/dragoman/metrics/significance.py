"""Significance of the difference between two systems: the paired bootstrap (Koehn 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric

from dragoman.metrics.bootstrap import interval, p_value
from dragoman.metrics.corpus_score import Interval
from dragoman.metrics.measured import Measured
from dragoman.metrics.names import USUAL
from dragoman.metrics.report import as_compared, check, checked_metrics
from dragoman.metrics.sacrebleu_bootstrap import bootstrapped, samples
from dragoman.metrics.table import BY_SACREBLEU, measure_of


class Comparison(NamedTuple):
    metric: str
    baseline: float
    system: float
    p_value: float


def compare(
    system: Sequence[str],
    baseline: Sequence[str],
    *references: Sequence[str],
    lowercase: bool = False,
    metrics: Sequence[str] = USUAL,
    sources: Sequence[str] = (),
) -> list[Comparison]:
    """Compare the system with the baseline on the same sentences, one result per metric."""
    names = checked_metrics(metrics, system, references, sources)
    check(baseline, references[0])
    origins, new, old, *wanted = (
        as_compared(side, lowercase=lowercase) for side in (sources, system, baseline, *references)
    )
    rows = []
    for name in names:
        if name in BY_SACREBLEU:
            metric = BY_SACREBLEU[name](references[0], lowercase=lowercase)
            rows.append(_by_sacrebleu(name, metric, system, baseline, references))
        else:
            measure = measure_of(name, origins)
            rows.append(_by_samples(name, measure(new, *wanted), measure(old, *wanted)))
    return rows


def _by_sacrebleu(
    name: str,
    metric: Metric,
    system: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[Sequence[str]],
) -> Comparison:
    before, after = bootstrapped(metric, [baseline, system], *references)
    # For equal scores sacreBLEU returns p = 1/1001, since it counts only differences above the observed one.
    p = 1.0 if before.score == after.score else float(after.p_value or 1.0)
    return Comparison(name, float(before.score), float(after.score), p)


def _by_samples(name: str, system: Measured, baseline: Measured) -> Comparison:
    new, old = system.score().value, baseline.score().value
    return Comparison(name, old, new, p_value(system.samples() - baseline.samples(), new - old))


def difference_interval(
    name: str,
    system: Sequence[str],
    baseline: Sequence[str],
    *references: Sequence[str],
    lowercase: bool = False,
    sources: Sequence[str] = (),
) -> Interval:
    """Return the 95 % interval of how much the system scores above the baseline, by the same samples."""

    def drawn(outputs: Sequence[str]) -> NDArray[np.float64]:
        if name in BY_SACREBLEU:
            return samples(BY_SACREBLEU[name](references[0], lowercase=lowercase), outputs, *references)
        origins, mine, *wanted = (
            as_compared(side, lowercase=lowercase) for side in (sources, outputs, *references)
        )
        return measure_of(name, origins)(mine, *wanted).samples()

    return interval(drawn(system) - drawn(baseline))
