"""sacreBLEU's own bootstrap, for one system or for a pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from dragoman.metrics.bootstrap import SAMPLES, SEED, interval, resampled
from dragoman.metrics.corpus_score import CorpusScore


def bootstrapped(
    metric: Metric, systems: Sequence[Sequence[str]], *references: Sequence[str]
) -> list[Result]:
    """Return the scores of the systems; all but the first have a p-value against the first.

    This avoids `corpus_score(n_bootstrap=…)`, which fails if a resampled corpus has chrF 0.
    """
    named = [(str(number), system) for number, system in enumerate(systems)]
    test = PairedTest(named, {"metric": metric}, references, test_type="bs", n_samples=SAMPLES)
    _, columns = test()
    return [cell for column in columns.values() for cell in column if isinstance(cell, Result)]


def corpus_score(metric: Metric, hypotheses: Sequence[str], *references: Sequence[str]) -> CorpusScore:
    value = float(metric.corpus_score(hypotheses, references).score)
    signature = metric.get_signature()
    for key, one in (("bs", SAMPLES), ("seed", SEED)):
        signature.update(key, one)
    return CorpusScore(value, interval(samples(metric, hypotheses, *references)), str(signature))


def samples(metric: Metric, hypotheses: Sequence[str], *references: Sequence[str]) -> NDArray[np.float64]:
    """Return the score on each resampled corpus, by the statistics that sacreBLEU's own tests resample.

    The samples are those of all our metrics: unlike `bootstrapped`, which gives a p-value, they give the
    interval of a difference.
    """
    counts = np.array(metric._extract_corpus_statistics(hypotheses, references), np.float64)
    sums = (counts[ids].sum(axis=0) for ids in resampled(len(counts)))
    return np.array([metric._compute_score_from_stats(row.tolist()).score for row in sums])
