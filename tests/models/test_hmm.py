"""The HMM beside all sequences of tags, and what both baselines say about words they know and do not know."""

from itertools import pairwise, product

import numpy as np

from dragoman.models.hmm import HMM, MostFrequentTag

SENTENCES = [
    (["the", "cat", "sleeps"], ["D", "N", "V"]),
    (["the", "dog", "sees", "the", "cat"], ["D", "N", "V", "D", "N"]),
    (["the", "sees", "sleeps"], ["D", "N", "V"]),
    (["cats", "sleep"], ["N", "V"]),
]


def score(hmm: HMM, words: list[str], tags: tuple[int, ...]) -> float:
    total = hmm.start[tags[0]] + hmm.end[tags[-1]] + sum(hmm.A[a, b] for a, b in pairwise(tags))
    return float(total + sum(hmm.emission(word)[tag] for word, tag in zip(words, tags, strict=True)))


def test_viterbi_equals_enumeration() -> None:
    hmm = HMM(SENTENCES)
    for text in ("the cat sees", "sees", "the the dogs sleep", "xyz sleeps the dog"):
        words = text.split()
        every = list(product(range(len(hmm.tags)), repeat=len(words)))
        best = max(every, key=lambda tags: score(hmm, words, tags))
        assert hmm(words) == [hmm.tags[tag] for tag in best], text
    assert hmm([]) == []


def test_transitions_decide_where_words_do_not() -> None:
    assert MostFrequentTag(SENTENCES)(["the", "sees", "sleeps"]) == ["D", "N", "V"]
    assert HMM(SENTENCES)(["the", "sees", "sees", "the"])[:3] == ["D", "N", "V"]


def test_endings_stand_for_unknown_words() -> None:
    walked = [(["walked"], ["V"]), (["talked"], ["V"]), (["house"], ["N"]), (["mouse"], ["N"])] * 3
    hmm = HMM(walked)
    assert hmm(["balked"]) == ["V"]
    assert hmm(["louse"]) == ["N"]
    assert np.isfinite(hmm.emission("§")).all()
    assert MostFrequentTag(walked)(["balked"]) == ["N"]  # the first of two by name
