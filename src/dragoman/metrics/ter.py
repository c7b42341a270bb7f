"""Translation edit rate (Snover et al. 2006), as computed by sacreBLEU, which ignores case by default.

TER counts insertions, deletions, substitutions and shifts of phrases, divided by the length of the
reference. The search for shifts follows Tercom. sacreBLEU computes the distance after each possible shift
in Python; here it does so only for the few that may be the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.lib_ter import BeamEditDistance
from sacrebleu.metrics.ter import TER

from dragoman.metrics.ratio_metric import RatioMetric

MAX_SHIFT_LENGTH = 10
MAX_SHIFT_DISTANCE = 50
MAX_CANDIDATES = 1000  # of a sentence; the shifts of a round that exceeds it are not made

Candidate = tuple[int, int, int, int, str]  # gain, length, − start, − target; the words after the shift


class Shift(NamedTuple):
    start: int
    length: int
    target: int

    def apply(self, words: str) -> str:
        """Return the words with the phrase moved in front of the target, or past itself if it contains it."""
        start, end = self.start, self.start + self.length
        phrase = words[start:end]
        if self.target < start:
            return words[: self.target] + phrase + words[self.target : start] + words[end:]
        after = self.target if self.target > end else self.target + self.length
        return words[:start] + words[end:after] + phrase + words[after:]


class Alignment(NamedTuple):
    """Where the words of the reference are in the output, and sums of errors up to each word of either."""

    position: list[int]  # in the output, of each word of the reference, or of the last word before it
    output_errors: list[int]
    wanted_errors: list[int]


def ter(hypotheses: Sequence[str], *references: Sequence[str]) -> RatioMetric:
    """Return TER; of several references the fewest edits count, and the mean length."""
    metric = TER()
    metric.corpus_score(["a"], [["a"]] * len(references))  # without it there is no signature
    edits, lengths = [], []
    for output, *choices in zip(hypotheses, *references, strict=True):
        ours, *theirs = (metric.tokenizer(text.rstrip()).split() for text in (output, *choices))
        edits.append(min(sentence_edits(ours, wanted) for wanted in theirs))
        lengths.append(np.mean([len(wanted) for wanted in theirs]))
    return RatioMetric(np.array(edits), np.array(lengths), str(metric.get_signature()))


def sentence_edits(output: Sequence[str], wanted: Sequence[str]) -> int:
    """Return the number of shifts, greedily the one that helps most, and of the edits that remain."""
    if output == wanted:
        return 0
    words = dict.fromkeys((*output, *wanted))
    character = {word: chr(number) for number, word in enumerate(words)}
    ours, theirs = ("".join(character[word] for word in line) for line in (output, wanted))
    slow = BeamEditDistance(list(theirs))
    distance, trace = slow(list(ours))
    shifts = candidates = 0
    while True:
        better = []
        for shift in possible_shifts(ours, theirs, aligned_words(trace), MAX_CANDIDATES - candidates):
            candidates += 1
            moved = shift.apply(ours)
            gain = distance - Levenshtein.distance(moved, theirs)
            if gain > 0:
                better.append((gain, shift.length, -shift.start, -shift.target, moved))
        gain, moved = best_of(better, distance, slow)
        if candidates >= MAX_CANDIDATES or gain == 0:
            return shifts + distance
        shifts, ours = shifts + 1, moved
        distance, trace = slow(list(ours))


def best_of(better: list[Candidate], distance: int, slow: BeamEditDistance) -> tuple[int, str]:
    """Return the largest gain and its words: of several, the longest phrase, the earliest, to the earliest
    target, as in Tercom.

    sacreBLEU's beam misses some ways to edit long lines, so that a gain may be smaller, but is never larger.
    """
    best: Candidate = (0, 0, 0, 0, "")
    for candidate in sorted(better, reverse=True):
        if candidate <= best:
            break
        exact, _ = slow(list(candidate[-1]))
        best = max(best, (distance - exact, *candidate[1:]))
    return best[0], best[-1]


def aligned_words(trace: str) -> Alignment:
    """Read sacreBLEU's trace of the edits: a space for a word that stays, s, d and i."""
    position, output_errors, wanted_errors = [], [0], [0]
    last = -1
    for edit in trace:
        if edit != "i":
            last += 1
            output_errors.append(output_errors[-1] + (edit != " "))
        if edit != "d":
            position.append(last)
            wanted_errors.append(wanted_errors[-1] + (edit != " "))
    return Alignment(position, output_errors, wanted_errors)


def possible_shifts(output: str, wanted: str, aligned: Alignment, most: int) -> Iterator[Shift]:
    """Yield shifts of phrases that both have, if there are errors where the phrase is and where it belongs.

    After `most` shifts only those of the same phrase follow.
    """
    position, output_errors, wanted_errors = aligned
    tried = 0
    for start, place, length in common_phrases(output, wanted):
        if output_errors[start] == output_errors[start + length]:
            continue
        if wanted_errors[place] == wanted_errors[place + length]:
            continue
        if start <= position[place] < start + length:
            continue
        before = -1 if place == 0 else position[place - 1]
        for target in dict.fromkeys(last + 1 for last in (before, *position[place : place + length])):
            tried += 1
            yield Shift(start, length, target)
        if tried >= most:
            return


def common_phrases(output: str, wanted: str) -> Iterator[tuple[int, int, int]]:
    """Yield start in the output, start in the reference and length."""
    for start, word in enumerate(output):
        place = wanted.find(word, max(start - MAX_SHIFT_DISTANCE, 0), start + MAX_SHIFT_DISTANCE + 1)
        while place != -1:
            most = min(len(output) - start, len(wanted) - place, MAX_SHIFT_LENGTH)
            for length in range(1, most + 1):
                if output[start + length - 1] != wanted[place + length - 1]:
                    break
                yield start, place, length
            place = wanted.find(word, place + 1, start + MAX_SHIFT_DISTANCE + 1)
