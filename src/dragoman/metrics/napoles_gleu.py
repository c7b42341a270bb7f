"""GLEU for corrections (Napoles et al. 2015, 2016), as used for JFLEG; not the GLEU of Google.

BLEU, except that an n-gram of the output which the source has and the reference does not is subtracted from
the matches: what should have been corrected. Of several references, each sentence gets one at random, and
the score is the mean over many draws. Words are separated by whitespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.bootstrap import SEED, interval, resampled
from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.ngrams import ngrams

ORDER = 4
DRAWS = 500  # of references; as in Napoles et al. 2016


class NapolesGleu(NamedTuple):
    counts: NDArray[
        np.int64
    ]  # by sentence and reference: two lengths, then matches and n-grams of each order

    def _drawn(self) -> Iterator[NDArray[np.int64]]:
        """Yield the counts of each sentence with a reference that is drawn for it."""
        rng = np.random.default_rng(SEED)
        sentences, references, _ = self.counts.shape
        while True:
            yield self.counts[np.arange(sentences), rng.integers(references, size=sentences)]

    def samples(self) -> NDArray[np.float64]:
        both = zip(resampled(len(self.counts)), self._drawn(), strict=False)
        return np.array([gleu_of(drawn[ids].sum(axis=0)) for ids, drawn in both])

    def score(self) -> CorpusScore:
        draws = zip(range(DRAWS), self._drawn(), strict=False)
        value = float(np.mean([gleu_of(drawn.sum(axis=0)) for _, drawn in draws]))
        return CorpusScore(value, interval(self.samples()))


def napoles_gleu(
    sources: Sequence[str], hypotheses: Sequence[str], *references: Sequence[str]
) -> NapolesGleu:
    counts = [
        [sentence_counts(source.split(), output.split(), wanted.split()) for wanted in choices]
        for source, output, *choices in zip(sources, hypotheses, *references, strict=True)
    ]
    return NapolesGleu(np.array(counts, dtype=np.int64))


def sentence_counts(source: Sequence[str], output: Sequence[str], wanted: Sequence[str]) -> list[int]:
    counts = [len(output), len(wanted)]
    for n in range(1, ORDER + 1):
        y, r = ngrams(output, n), ngrams(wanted, n)
        uncorrected = {gram: count for gram, count in ngrams(source, n).items() if gram not in r}
        missed = sum(min(count, y[gram]) for gram, count in uncorrected.items())
        counts += [max((y & r).total() - missed, 0), y.total()]
    return counts


def gleu_of(sums: NDArray[np.int64]) -> float:
    """Return 100 · BP · exp(1/4 Σₙ log pₙ) with the brevity penalty BP = exp(min(0, 1 − |r| / |y|))."""
    output, wanted, *grams = (int(count) for count in sums)
    if not all(grams):
        return 0.0
    precisions = np.array(grams[::2]) / np.array(grams[1::2])
    return float(100 * np.exp(min(0.0, 1 - wanted / output) + np.log(precisions).mean()))
