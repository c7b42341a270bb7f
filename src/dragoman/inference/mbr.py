"""Minimum Bayes risk: of several samples the one that is most like all of them (Kumar & Byrne 2004).

Samples stand for the model's distribution (Eikema & Aziz 2020), so what they agree on wins over the one
output that happens to be most probable. Each is compared with a few of them, which estimate its risk as well
as all would (Eikema & Aziz 2022): the cost grows with the samples, not with their square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dragoman.metrics.sentence import Distance
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.tokenizer import Tokenizer

REFERENCES = 64  # samples that each is compared with: the first that were drawn


def least_risk(samples: Sequence[Hypothesis], text: Tokenizer, distance: Distance) -> list[Hypothesis]:
    """Each sample once, by its expected utility: score = 1/n Σ_j (1 − Δ(y, y_j)), 1 where all agree."""
    texts = [text.decode(sample.tokens) for sample in samples]
    first = dict(zip(reversed(texts), reversed(samples), strict=True))
    others = Counter(texts[:REFERENCES])
    risk = {
        y: sum(count * distance(y, other) for other, count in others.items()) / others.total()
        for y in dict.fromkeys(texts)
    }
    return [first[y]._replace(score=1.0 - risk[y]) for y in sorted(risk, key=risk.__getitem__)]
