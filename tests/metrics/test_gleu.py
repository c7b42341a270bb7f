"""The two GLEUs: Google's against NLTK, that of Napoles et al. by hand and on JFLEG."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dragoman.errors import UsageError
from dragoman.metrics.google_gleu import google_gleu
from dragoman.metrics.napoles_gleu import gleu_of, napoles_gleu, sentence_counts
from dragoman.metrics.report import score
from dragoman.metrics.significance import compare

OUTPUTS = [
    "the cat sat on the mat",
    "a dog ran",
    "two men ride bikes in park",
    "nothing alike here",
    "the the the the",
]
REFERENCES = [
    "the cat lay on a mat",
    "a dog ran away quickly",
    "two men ride bicycles in the park",
    "completely different words",
    "the cat the dog",
]
OTHERS = ["a cat sat on a mat", "the dog ran", "men on bikes in a park", "nothing here", "the"]


def test_google_gleu_is_that_of_nltk() -> None:
    """corpus_gleu of NLTK 3.10."""
    assert google_gleu(OUTPUTS, REFERENCES).value == pytest.approx(0.3)
    assert google_gleu(OUTPUTS, REFERENCES, OTHERS).value == pytest.approx(0.3548387096774194)


def test_google_gleu_is_the_lower_one_of_precision_and_recall() -> None:
    # a, b and "a b" match: 3 of 3 n-grams in one direction, 3 of 6 in the other
    assert google_gleu(["a b"], ["a b c"]).value == google_gleu(["a b c"], ["a b"]).value == 0.5


def test_napoles_gleu_subtracts_what_should_have_been_corrected() -> None:
    source, wanted = ["he", "go", "to", "a", "school"], ["he", "goes", "to", "school"]
    # The source unchanged: he, to and school match; go and a should have gone.
    assert sentence_counts(source, source, wanted) == [5, 4, 1, 5, 0, 4, 0, 3, 0, 2]
    # Half corrected: he, goes, to and school match, a is left; two bigrams are right, two are left.
    assert sentence_counts(source, ["he", "goes", "to", "a", "school"], wanted)[:6] == [5, 4, 3, 5, 0, 4]
    # Wrong in another way: nothing is subtracted for it.
    assert sentence_counts(source, ["he", "went", "to", "school"], wanted)[:4] == [4, 4, 3, 4]


def test_napoles_gleu_of_sums() -> None:
    sums = np.array([8, 10, 6, 8, 4, 7, 3, 6, 2, 5])
    precisions = (6 / 8) * (4 / 7) * (3 / 6) * (2 / 5)
    assert gleu_of(sums) == pytest.approx(100 * math.exp(1 - 10 / 8) * precisions**0.25)
    assert gleu_of(sums * [1, 1, 1, 1, 1, 1, 1, 1, 0, 1]) == 0


def test_a_perfect_correction_scores_100_and_several_references_are_averaged() -> None:
    source, wanted = ["he go to a school today"] * 3, ["he goes to school today"] * 3
    assert napoles_gleu(source, wanted, wanted).score().value == pytest.approx(100)
    other = ["nothing of this is the same"] * 3
    both = napoles_gleu(source, wanted, wanted, other).score()
    assert 0 < both.value < 100
    assert both.interval[0] <= both.value <= both.interval[1]


def test_the_source_of_jfleg_scores_as_published(data: Path) -> None:
    source, *references = (
        (data / "jfleg" / f"test.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        for side in ("src", "ref0", "ref1", "ref2", "ref3")
    )
    gleu = napoles_gleu(source, source, *references).score()
    assert round(gleu.value, 2) == 40.54
    assert gleu.interval[0] < 40.54 < gleu.interval[1]


def test_napoles_gleu_needs_the_sources() -> None:
    with pytest.raises(UsageError, match="needs the source of each output"):
        score(OUTPUTS, REFERENCES, metrics=["napoles_gleu"])
    report = score(OUTPUTS, REFERENCES, OTHERS, metrics=["napoles_gleu"], sources=OTHERS)
    assert list(report.scores) == ["napoles_gleu"]


def test_corrections_are_compared() -> None:
    source, wanted = ["he go to a school today"] * 30, ["he goes to school today"] * 30
    (row,) = compare(wanted, source, wanted, sources=source, metrics=["napoles_gleu"])
    assert (row.system, row.baseline) == (pytest.approx(100), 0)
    assert row.p_value < 0.05
    (row,) = compare(source, source, wanted, sources=source, metrics=["napoles_gleu"])
    assert row.p_value == 1
