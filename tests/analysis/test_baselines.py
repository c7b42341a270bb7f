"""Baselines: a copy of the source, and the target of the nearest training pair."""

from __future__ import annotations

import pytest

from dragoman.analysis import baselines as module
from dragoman.analysis.baselines import COPY, NEAREST, baseline_outputs, nearest
from dragoman.data.pair import Pair

TRAINING = [
    Pair("A dog runs.", "Ein Hund läuft.", 1),
    Pair("A cat sleeps on the mat.", "Eine Katze schläft auf der Matte.", 2),
    Pair("A cat sleeps.", "Eine Katze schläft.", 3),
]


@pytest.mark.parametrize("together", [1, 2, 1000])
def test_the_nearest_pair_is_by_words(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOGETHER", together)
    sources = ["a dog sleeps", "THE CAT SLEEPS ON A MAT", "a dog runs", "nothing at all"]
    assert [pair.line for pair in nearest(sources, TRAINING)] == [1, 2, 1, 1]


def test_single_words_are_compared_by_characters() -> None:
    words = [Pair("bicycle", "B", 1), Pair("tricycle", "T", 2)]
    assert [pair.tgt for pair in nearest(["bycicle", "trycicle"], words)] == ["B", "T"]


def test_outputs_of_baselines() -> None:
    sources = ["A cat sleeps.", "Taxi"]
    found = baseline_outputs(sources, TRAINING)
    assert found == {COPY: sources, NEAREST: ["Eine Katze schläft.", "Ein Hund läuft."]}
    assert list(baseline_outputs(["a"], ())) == [COPY]
