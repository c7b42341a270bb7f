"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin 2004): the mean F₁ of the sentences.

Words are those of running text, in lower case, without stemming; characters, in scripts without spaces. In
ASCII text these are the words of the `rouge-score` package, which has no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rapidfuzz.distance import LCSseq

from dragoman.metrics.ngrams import ngrams
from dragoman.metrics.ratio_metric import RatioMetric
from dragoman.text.running_words import running_words

Words = Sequence[str]


def rouge_1(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    return _mean(lambda output, wanted: ngram_f1(output, wanted, 1), hypotheses, references)


def rouge_2(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    return _mean(lambda output, wanted: ngram_f1(output, wanted, 2), hypotheses, references)


def rouge_l(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    return _mean(subsequence_f1, hypotheses, references)


def ngram_f1(output: Words, wanted: Words, n: int) -> float:
    """Return 2 |G(y) ∩ G(r)| / (|G(y)| + |G(r)|), where G counts n-grams."""
    ours, theirs = ngrams(output, n), ngrams(wanted, n)
    return 2 * (ours & theirs).total() / max(ours.total() + theirs.total(), 1)


def subsequence_f1(output: Words, wanted: Words) -> float:
    """Return 2 LCS(y, r) / (|y| + |r|), where LCS is the length of the longest common subsequence."""
    return 2 * LCSseq.similarity(output, wanted) / max(len(output) + len(wanted), 1)


def _mean(
    f1: Callable[[Words, Words], float], hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> RatioMetric:
    """Return the mean over sentences; of several references the one with the highest F₁ counts."""
    best = [
        max(f1(running_words(output), running_words(wanted)) for wanted in choices)
        for output, *choices in zip(hypotheses, *references, strict=True)
    ]
    return RatioMetric(np.array(best), np.ones(len(best)))
