"""Google's GLEU, for translations (Wu et al. 2016); not the GLEU for corrections of Napoles et al.

All n-grams up to n = 4 are counted together, in sacreBLEU's 13a tokens. A sentence scores the lower one of
precision and recall, and a corpus the ratio of the sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from dragoman.metrics.ngrams import ngrams
from dragoman.metrics.ratio_metric import RatioMetric

ORDER = 4


def google_gleu(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    """Return Σ matches / Σ max(n-grams of the output, of the reference); the best of several references."""
    tokenize = BLEU(tokenize="13a").tokenizer

    def counted(text: str) -> Counter[tuple[str, ...]]:
        tokens = tokenize(text).split()
        return sum((ngrams(tokens, n) for n in range(1, ORDER + 1)), Counter())

    best = []
    for output, *choices in zip(
        map(counted, hypotheses), *(map(counted, one) for one in references), strict=True
    ):
        counts = [((output & wanted).total(), max(output.total(), wanted.total())) for wanted in choices]
        best.append(max(counts, key=lambda pair: pair[0] / max(pair[1], 1)))
    hits, units = np.array(best, dtype=np.int64).reshape(-1, 2).T
    return RatioMetric(hits, units)
