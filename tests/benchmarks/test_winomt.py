"""WinoMT: the gender of translated professions, and scores by hand numbers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.quality.winomt import (
    GENDER_OF,
    Gender,
    gender_at,
    read_sentence,
    wino_score,
)

LINE = "female\t1\tThe developer argued with the designer because she did not like the design.\tdeveloper"


def test_a_line_is_read() -> None:
    sentence = read_sentence(LINE)
    assert (sentence.gender, sentence.index, sentence.profession) == ("female", 1, "developer")
    assert sentence.text.split()[sentence.index] == sentence.profession
    builder = read_sentence("male\t1\tThe construction worker left.\tconstruction worker")
    assert [builder.text.split()[place] for place in builder.places] == ["construction", "worker"]


@pytest.mark.parametrize("line", ["", "female\tx\ta\tb", "girl\t1\ta\tb", LINE + "\tmore"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="Not a sentence of WinoMT"):
        read_sentence(line)


@pytest.mark.parametrize(
    ("language", "text", "place", "gender"),
    [
        ("de", "Die Entwicklerin stritt mit dem Designer.", 1, "female"),
        ("de", "Die Entwicklerin stritt mit dem Designer.", 5, "male"),
        ("de", "Er half der freundlichen Krankenschwester, weil", 4, "female"),
        ("de", "Der sehr alte Bauer", 3, "male"),
        ("de", "Das Kind", 1, "neutral"),
        ("de", "Ärzte", 0, "unknown"),
        ("fr", "La secrétaire a vu le gardien.", 1, "female"),
        ("fr", "La secrétaire a vu le gardien.", 5, "male"),
        ("fr", "Parce que l'infirmière", 2, "female"),
        ("fr", "l'ouvrier", 0, "male"),
        ("fr", "Des juges", 1, "unknown"),
    ],
)
def test_gender_is_read_from_determiner_and_ending(
    language: str, text: str, place: int, gender: Gender
) -> None:
    assert GENDER_OF[language](text.split(), place) == gender


def test_the_noun_is_asked_before_its_determiner() -> None:
    words = ["Sie", "sah", ",", "dass", "die", "Ärztin", "kam"]
    assert gender_at(words, [4, 5], GENDER_OF["de"]) == "female"
    assert gender_at(words, [], GENDER_OF["de"]) == "unknown"


def test_scores_by_hand() -> None:
    wanted: list[Gender] = ["male", "male", "male", "female", "female", "neutral"]
    found: list[Gender] = ["male", "male", "unknown", "male", "female", "male"]
    score = wino_score(found, wanted)
    assert score.sentences == 6
    assert score.accuracy == pytest.approx(50)
    assert score.male_f1 == pytest.approx(100 * 2 * 2 / (4 + 3))
    assert score.female_f1 == pytest.approx(100 * 2 * 1 / (1 + 2))
    assert score.gender_gap == pytest.approx(score.male_f1 - score.female_f1)
    assert score.unknown == pytest.approx(100 / 6)


@pytest.mark.skipif("DRAGOMAN_DATA" not in os.environ, reason="needs WinoMT")
def test_every_line_of_the_challenge_set_is_read() -> None:
    home = Path(os.environ["DRAGOMAN_DATA"]) / "winomt"
    lines = {
        name: (home / name).read_text(encoding="utf-8").split("\n")[:-1] for name in ("en.tsv", "en_pro.tsv")
    }
    sentences = [read_sentence(line) for line in lines["en.tsv"]]
    assert len(sentences) == 3888
    assert all(one.places[-1] < len(one.text.split()) for one in sentences)
    assert set(lines["en_pro.tsv"]) <= set(lines["en.tsv"])
