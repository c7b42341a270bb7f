"""ROUGE against the `rouge-score` package (0.1.2), whose numbers are written down here."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.metrics.report import score
from dragoman.metrics.rouge import rouge_1, rouge_2, rouge_l
from dragoman.text.running_words import running_words as words

OUTPUTS = [
    "The cat sat on the mat.",
    "A dog ran",
    "two men ride bikes in park!",
    "it's 3:30 o'clock",
    "nothing alike here",
]
REFERENCES = [
    "the cat lay on a mat",
    "a dog ran away quickly",
    "Two men ride bicycles in the park.",
    "It is 3:30 now, o'clock",
    "completely different words",
]
OTHERS = ["cat on mat", "dog running", "men on bikes in a park", "half past three", "nothing here"]


@pytest.mark.parametrize(
    ("rouge", "sentences", "both"),
    [
        (rouge_1, [0.666667, 0.75, 0.769231, 0.769231, 0.0], 75.1025641025641),
        (rouge_2, [0.2, 0.666667, 0.363636, 0.363636, 0.0], 31.878787878787875),
        (rouge_l, [0.666667, 0.75, 0.769231, 0.769231, 0.0], 75.1025641025641),
    ],
)
def test_rouge_is_that_of_the_package(rouge, sentences: list[float], both: float) -> None:
    assert rouge(OUTPUTS, REFERENCES).hits == pytest.approx(sentences, abs=1e-6)
    assert rouge(OUTPUTS, REFERENCES).percent == pytest.approx(20 * sum(sentences), abs=1e-4)
    assert rouge(OUTPUTS, REFERENCES, OTHERS).percent == pytest.approx(both)


def test_order_matters_to_rouge_l_only() -> None:
    assert rouge_1(["b a"], ["a b"]).percent == 100
    assert rouge_l(["b a"], ["a b"]).percent == 50


def test_words_of_other_scripts_count() -> None:
    assert words("Größe_x, Привет!") == ["größe", "x", "привет"]
    assert rouge_1(["Привет"], ["привет"]).percent == 100


def test_nothing_scores_nothing() -> None:
    for rouge in (rouge_1, rouge_2, rouge_l):
        assert rouge(["", "a", ""], ["a b", "", ""]).percent == 0


def test_the_first_twelve_words_of_debian_descriptions(data: Path) -> None:
    """Its README has 32.2 and 28.6 with slightly other words; the package gives 32.37 and 28.71."""
    source, target = (
        (data / "debian-synopsis" / f"test.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        for side in ("src", "tgt")
    )
    report = score([" ".join(line.split()[:12]) for line in source], target, metrics=["rouge"])
    assert [round(one.value, 1) for one in report.scores.values()] == [32.4, 15.7, 28.7]
