"""BLEU (Papineni et al. 2002), by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.sacrebleu_bootstrap import corpus_score


def metric(*, lowercase: bool = False) -> BLEU:
    return BLEU(lowercase=lowercase, force=True)  # force: no warning on stderr about tokenised periods


def bleu(hypotheses: Sequence[str], *references: Sequence[str], lowercase: bool = False) -> CorpusScore:
    """Return BLEU, from 0 to 100, with sacreBLEU's own bootstrap and signature."""
    return corpus_score(metric(lowercase=lowercase), hypotheses, *references)
