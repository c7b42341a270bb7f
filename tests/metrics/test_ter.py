"""TER is sacreBLEU's, with an interval and its signature, and is measured if it is asked for."""

from __future__ import annotations

import pytest
import sacrebleu

from dragoman.metrics.report import score
from dragoman.metrics.significance import compare, difference_interval

OUTPUTS = ["The cat sat on the mat.", "", "men two ride in the park", "x"]
WANTED = ["the cat sat on a mat.", "a dog ran", "Two men ride in the park", ""]
OTHERS = ["on the mat the cat sat.", "dogs", "two men are riding there", "y"]


@pytest.mark.parametrize("references", [[WANTED], [WANTED, OTHERS]])
@pytest.mark.parametrize("lowercase", [False, True])
def test_the_score_is_that_of_sacrebleu(references: list[list[str]], lowercase: bool) -> None:
    metric = sacrebleu.TER()
    wanted = metric.corpus_score(OUTPUTS, references).score
    found = score(OUTPUTS, *references, metrics=["ter"], lowercase=lowercase).scores["ter"]
    assert found.value == wanted
    assert found.signature.replace("bs:1000|seed:12345|", "") == str(metric.get_signature())
    assert found.interval[0] < wanted < found.interval[1]


def test_a_phrase_that_is_moved_is_one_edit_of_five() -> None:
    assert score(["c d e a b"], ["a b c d e"], metrics=["ter"]).scores["ter"].value == 20


def test_fewer_edits_are_better_and_significantly_so() -> None:
    good = [f"{line} end" for line in WANTED] * 9
    [row] = compare(good, [""] * len(good), WANTED * 9, metrics=["ter"])
    assert row.system < row.baseline
    assert row.p_value < 0.05
    assert difference_interval("ter", good, [""] * len(good), WANTED * 9)[1] < 0


def test_it_takes_minutes_for_a_weak_model_so_it_is_not_measured_unasked() -> None:
    assert "ter" not in score(OUTPUTS, WANTED).scores
