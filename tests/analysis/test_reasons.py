"""Every reason by an example that has it, and one that nearly has it."""

from __future__ import annotations

from collections import Counter

import pytest

from dragoman.analysis.reasons import REASONS, Reason, Sentence, is_form, reasons
from dragoman.analysis.training_words import TrainingWords

SOURCE = "A man rides his red bicycle through the old town"
REFERENCE = "Ein Mann fährt mit seinem roten Fahrrad durch die alte Stadt"
EXAMPLES = {
    "empty": "  ",
    "repetition": "Ein Mann fährt fährt fährt mit seinem roten Fahrrad durch die alte Stadt",
    "copied": SOURCE,
    "too_short": "Ein Mann fährt",
    "too_long": f"{REFERENCE} und {REFERENCE} und dann",
    "numbers": "Ein Mann fährt mit 250 roten Fahrrad durch die alte Stadt",
    "word_form": "Ein Mann fährt mit seinen roten Fahrrad durch die alte Stadt",
    "word_order": "durch die alte Stadt fährt Ein Mann mit seinem roten Fahrrad",
    "surface": "ein mann fährt mit seinem roten Fahrrad durch die alte Stadt.",
    "wording": "Ein Herr fährt mit seinem roten Rad durch die alte Stadt",
}


def tags(sentence: Sentence, training: TrainingWords | None = None) -> list[str]:
    return [reason.tag for reason in reasons(sentence, training)]


@pytest.mark.parametrize(("tag", "output"), EXAMPLES.items())
def test_each_reason_has_an_example(tag: str, output: str) -> None:
    assert tags(Sentence(SOURCE, output, REFERENCE)) == [tag]


def test_equal_outputs_have_no_reason() -> None:
    assert reasons(Sentence("a b", "c d", "c d")) == ()


def test_words_without_a_counterpart_are_named() -> None:
    found = reasons(Sentence(SOURCE, "Ein Rad", REFERENCE, ("town", "old"), ("rad",)))
    assert [reason.tag for reason in found] == ["too_short", "omission", "hallucination"]
    assert found[1:] == (Reason("omission", ("town", "old")), Reason("hallucination", ("rad",)))


def test_training_explains_unseen_words_and_long_sources() -> None:
    counts = Counter({word: 3 for word in SOURCE.lower().split() if word != "bicycle"})
    found = reasons(Sentence(SOURCE, "Ein Rad", REFERENCE), TrainingWords(counts, Counter(), 5, []))
    assert found[1:] == (Reason("unseen_words", ("bicycle",)), Reason("long_source"))


def test_numbers_that_are_missing_are_named() -> None:
    assert reasons(Sentence("x", "in 1985", "in 1984"))[0] == Reason("numbers", ("1984",))


@pytest.mark.parametrize(
    ("word", "other", "same"),
    [
        ("schönes", "schöner", True),
        ("haus", "hauses", True),
        ("haus", "haustür", False),
        ("der", "den", False),
    ],
)
def test_forms_share_most_of_their_letters(word: str, other: str, same: bool) -> None:
    assert is_form(word, other) == same


def test_all_reasons_are_described() -> None:
    assert {*EXAMPLES, "omission", "hallucination", "unseen_words", "long_source"} == set(REASONS)
