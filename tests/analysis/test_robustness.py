"""Perturbations of a test set, and what a system that copies its source loses by them."""

from __future__ import annotations

import pytest

from dragoman.analysis.robustness import PERTURBATIONS, robustness, typos, without_punctuation
from dragoman.metrics.edit_distance import edit_distance
from dragoman.metrics.report import score

TEXT = (
    "Three Children are playing in the park, near the old bridge of Köln; nobody watches them closely today."
)


def test_a_tenth_of_the_words_get_a_typo() -> None:
    changed = typos(TEXT)
    pairs = [(a, b) for a, b in zip(TEXT.split(), changed.split(), strict=True) if a != b]
    assert 1 <= len(pairs) <= 2  # of 12 words with four letters or more; a slip may hit the same letter
    assert all(edit_distance(a, b) <= 2 for a, b in pairs)
    assert typos(TEXT) == changed


@pytest.mark.parametrize("text", ["", "a of 1234 - _____", "日本"])
def test_texts_without_words_stay(text: str) -> None:
    assert typos(text) == text


def test_punctuation_is_removed_in_any_script() -> None:
    assert without_punctuation("« Ça va ? », 50 % (¿qué?)") == "Ça va 50 qué"
    assert without_punctuation("日本。車、") == "日本 車"


def test_a_system_that_copies_loses_what_was_changed() -> None:
    sources = ["Hello World .", "a b c d", "Good Morning, Vietnam"]
    wanted = list(sources)
    found = {one.name: one for one in robustness(list, sources, sources, wanted)}
    assert list(found) == list(PERTURBATIONS)
    lower = found["lower case"]
    assert lower.changed == pytest.approx(100 * 2 / 3)
    assert lower.same == pytest.approx(100 / 3)
    chrf = score(["hello world .", "a b c d", "good morning, vietnam"], wanted, metrics=["chrf"]).scores[
        "chrf"
    ]
    facts = lower.asdict()
    assert facts["chrf"] == {"value": chrf.value, "lost": 100 - chrf.value, "p": pytest.approx(0.5, abs=0.5)}


def test_what_changes_nothing_is_left_out() -> None:
    found = robustness(list, ["abc def"], ["abc def"], ["abc def"])
    assert [one.name for one in found] == ["upper case"]
