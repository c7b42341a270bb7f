"""chrF: F₂ of character n-grams (Popović 2015), by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF

from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.sacrebleu_bootstrap import corpus_score


def metric(references: Sequence[str] = (), *, lowercase: bool = False) -> CHRF:
    return CHRF(lowercase=lowercase)


def chrf(hypotheses: Sequence[str], *references: Sequence[str], lowercase: bool = False) -> CorpusScore:
    """Return chrF, from 0 to 100, with sacreBLEU's signature."""
    return corpus_score(metric(lowercase=lowercase), hypotheses, *references)
