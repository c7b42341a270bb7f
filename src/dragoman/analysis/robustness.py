"""Robustness: what a system loses when the same test set is typed carelessly."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.data.recipes.spelling.generate import double, omit, slip, swap
from dragoman.metrics.significance import Comparison, compare

TYPOS = (omit, double, swap, slip)
SHARE = 0.1  # of the words that get a typo, and at least one of a text
SHORTEST = 4  # letters of a word that gets one
METRICS = ("bleu", "chrf")
WORD = re.compile(r"[^\W\d_]++")

Perturbation = Callable[[str], str]


def typos(text: str) -> str:
    """Leave out, double, swap or slip a letter of some words: always the same of the same text."""
    rng = random.Random(text)
    places = [match.span() for match in WORD.finditer(text) if len(match[0]) >= SHORTEST]
    chosen = rng.sample(places, min(len(places), max(1, round(SHARE * len(places)))))
    for start, end in sorted(chosen, reverse=True):
        text = text[:start] + rng.choice(TYPOS)(text[start:end], rng) + text[end:]
    return text


def without_punctuation(text: str) -> str:
    kept = (" " if unicodedata.category(c).startswith("P") else c for c in text)
    return " ".join("".join(kept).split())


PERTURBATIONS: dict[str, Perturbation] = {
    "typos": typos,
    "lower case": str.lower,
    "upper case": str.upper,
    "no punctuation": without_punctuation,
}


@dataclass(frozen=True)
class Robustness:
    """The test set after a perturbation: the shares of the sources that it changed and of the outputs that
    stayed the same, in percent, and the scores, whose baselines are those of the test set as it was.
    """

    name: str
    changed: float
    same: float
    scores: list[Comparison]

    def asdict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "changed": self.changed,
            "same": self.same,
            **{
                one.metric: {"value": one.system, "lost": one.baseline - one.system, "p": one.p_value}
                for one in self.scores
            },
        }


def robustness(
    translate: Callable[[list[str]], list[str]],
    sources: Sequence[str],
    outputs: Sequence[str],
    *references: Sequence[str],
    lowercase: bool = False,
) -> list[Robustness]:
    """Translate the sources again after each perturbation, and compare with the `outputs` as they were."""
    found = []
    for name, perturb in PERTURBATIONS.items():
        perturbed = [perturb(source) for source in sources]
        if perturbed == list(sources):
            continue
        others = translate(perturbed)
        scores = compare(others, outputs, *references, lowercase=lowercase, metrics=METRICS)
        found.append(
            Robustness(name, differing(perturbed, sources), 100 - differing(others, outputs), scores)
        )
    return found


def differing(some: Sequence[str], others: Sequence[str]) -> float:
    return 100 * sum(a != b for a, b in zip(some, others, strict=True)) / max(len(some), 1)
