"""Suspects of omission and hallucination: words without a counterpart on the other side.

A lexicon of the training data says which words translate a word. Words without a clear translation, such as
articles, and words that it does not know are not judged. No sentence is translated word by word, so the
references set the standard: an output is suspect if it leaves more without a counterpart than nearly all of
them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.analysis.lexicon import Lexicon, Words

CLEAR = 0.2  # of the best translation of a word that is judged
RELATIVE = 0.1  # of that, for other translations
STANDARD = 0.95  # share of the references that have no greater share of such words
LEAST_WORDS = 2  # without a counterpart, of a suspect


@dataclass(frozen=True)
class Counterparts:
    """The words of a sentence that were judged, and those without a counterpart."""

    judged: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        return len(self.missing) / max(self.judged, 1)


def counterparts(words: Words, others: Words, lexicon: Lexicon) -> Counterparts:
    """Judge `words` by their translations in `others`; the lexicon is from the former to the latter."""
    judged = [(word, best) for word in words if (best := lexicon.best(word)) >= CLEAR]
    t = lexicon.t([word for word, _ in judged], others)[:, :-1]
    highest = t.max(axis=0) if len(others) else np.zeros(len(judged))
    missing = (
        word
        for (word, best), p in zip(judged, highest, strict=True)
        if p < RELATIVE * best and word not in others
    )
    return Counterparts(len(judged), tuple(dict.fromkeys(missing)))


@dataclass(frozen=True)
class Suspects:
    """Words without a counterpart, in percent of those judged, in outputs and in references; and by sentence
    the words that make an output suspect, none for others.
    """

    outputs: float
    references: float
    words: tuple[tuple[str, ...], ...]


def omissions(
    sources: Sequence[Words], outputs: Sequence[Words], references: Sequence[Words], lexicon: Lexicon
) -> Suspects:
    """Return the words of the sources that the outputs do not translate, though the references do."""
    ours = [counterparts(x, y, lexicon) for x, y in zip(sources, outputs, strict=True)]
    theirs = [counterparts(x, r, lexicon) for x, r in zip(sources, references, strict=True)]
    return suspects(ours, theirs, [one.missing for one in theirs])


def hallucinations(
    sources: Sequence[Words], outputs: Sequence[Words], references: Sequence[Words], reverse: Lexicon
) -> Suspects:
    """Return the words of the outputs that translate nothing of the source, and are not in the reference."""
    ours = [counterparts(y, x, reverse) for x, y in zip(sources, outputs, strict=True)]
    theirs = [counterparts(r, x, reverse) for x, r in zip(sources, references, strict=True)]
    return suspects(ours, theirs, references)


def suspects(
    ours: Sequence[Counterparts], theirs: Sequence[Counterparts], excused: Sequence[Words]
) -> Suspects:
    """Compare the outputs with the references; `excused` words are no reason for suspicion."""
    limit = float(np.quantile([one.share for one in theirs], STANDARD)) if theirs else 1.0
    words = []
    for one, known in zip(ours, excused, strict=True):
        unexcused = tuple(word for word in one.missing if word not in known)
        is_suspect = one.share > limit and len(unexcused) >= LEAST_WORDS
        words.append(unexcused if is_suspect else ())
    return Suspects(rate(ours), rate(theirs), tuple(words))


def rate(found: Sequence[Counterparts]) -> float:
    return 100 * sum(len(one.missing) for one in found) / max(sum(one.judged for one in found), 1)
