"""The errors of a few sentences, with and without training data."""

from __future__ import annotations

import json

import pytest

from dragoman.analysis.error_analysis import analyse_errors, nearest_references
from dragoman.analysis.training_words import read_training
from dragoman.data.pair import Pair

SOURCES = ["the dog", "Zorro sees 12 cats", "the cat sees the dog", "the dog"]
REFERENCES = ["der Hund", "Zorro sieht 12 Katzen", "die Katze sieht den Hund", "der Hund"]
OUTPUTS = ["der Hund", "sieht 13 Katzen", "die Katze", "Hund der"]
TRAINING = [Pair("the dog", "der Hund", 1)] * 9 + [Pair("the cat sees", "die Katze sieht", 2)]


def test_errors_without_training_data() -> None:
    found = analyse_errors(SOURCES, OUTPUTS, REFERENCES)
    assert found.omissions is found.hallucinations is None
    assert [one.chrf for one in found.sentences] == sorted(one.chrf for one in found.sentences)
    assert found.sentences[-1].chrf == pytest.approx(100)
    assert found.mean == pytest.approx(sum(one.chrf for one in found.sentences) / 4)
    (numbers,) = (b for name, b in found.sentence_buckets.items() if name.startswith("numbers"))
    assert [(one.label, one.sentences) for one in numbers] == [("none", 3), ("some", 1)]
    copied, digits, other = found.word_buckets["kind"]
    assert (copied.label, copied.wanted, copied.matched) == ("copied from the source", 1, 0)
    assert (digits.wanted, digits.written, digits.matched) == (1, 1, 0)
    assert (other.wanted, other.written, other.matched) == (11, 8, 8)
    assert {one.tag for one in found.reasons} == {"numbers", "too_short", "word_order"}
    json.dumps(found.asdict(1))


def test_training_data_adds_frequencies_and_suspects() -> None:
    training = read_training(TRAINING, SOURCES, [*OUTPUTS, *REFERENCES])
    found = analyse_errors(SOURCES, OUTPUTS, REFERENCES, training=training)
    buckets = found.word_buckets["occurrences in training"]
    # wanted: zorro, 12, katzen, den never; die, katze once, sieht once but twice wanted; der, hund nine times
    assert [(one.label, one.wanted, one.matched) for one in buckets] == [("never", 4, 1), ("1–9", 9, 7)]
    assert found.omissions is not None
    assert found.omissions.words == ((), (), ("the", "dog"), ())  # cats and seeing are too rare to be judged
    worst = next(one for one in found.sentences if one.line == 2)
    assert ("unseen_words", ("zorro", "12", "cats")) in [(one.tag, one.words) for one in worst.reasons]
    facts = found.asdict(2)
    assert len(facts["sentences"]) == 2
    assert facts["omissions"]["suspects"] == 1
    assert list(facts["baselines"]) == ["copy of the source", "nearest training pair"]
    json.dumps(facts)


def test_the_nearest_reference_counts() -> None:
    wanted, scores = nearest_references(["a b"], [["x y"], ["a b"]])
    assert wanted == ["a b"]
    assert scores.tolist() == pytest.approx([100])
