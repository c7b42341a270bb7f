"""The comparison of outputs on the pages says what differs, and rewrites what may."""

from __future__ import annotations

import pytest

from support.shown_output import agrees, refreshed


@pytest.mark.parametrize(
    ("shown", "had", "varies"),
    [
        ("kept 500\n", "kept 500\n", ""),
        ("Plan\n…\nNext: run\n", "Plan\n  a\n  b\nNext: run\n", ""),
        ("took … seconds\n", "took 49 seconds\n", ""),
        ("BLEU   9.5   8 to 12\n", "BLEU  10.25  7.5 to 13\n", "numbers"),
        ("Δ −0.3 p 1.5e-05\n", "Δ +1 p 0.2\n", "numbers"),
        ("Ich bin da.\nWo?\n", "Das ist gut.\nTom\n", "lines"),
    ],
)
def test_what_may_differ_agrees(shown: str, had: str, varies: str) -> None:
    assert agrees(shown, had, varies)


@pytest.mark.parametrize(
    ("shown", "had", "varies"),
    [
        ("kept 500\n", "kept 499\n", ""),
        ("kept 500\n", "kept 500\nNext: train\n", ""),
        ("a.b\n", "aXb\n", ""),
        ("BLEU 9.5\n", "chrF 9.5\n", "numbers"),
        ("BLEU 9.5\n", "BLEU nan\n", "numbers"),
        ("one\ntwo\n", "one\n", "lines"),
    ],
)
def test_what_may_not_differ_does_not_agree(shown: str, had: str, varies: str) -> None:
    assert not agrees(shown, had, varies)


def test_gaps_stay_and_numbers_are_those_that_were_had() -> None:
    had = "loss 2.25   31 s\nmodel 1.6 MB\nNext: run\n"
    assert refreshed("loss 3.1  9 …\n…\nNext: run\n", had, "numbers") == "loss 2.25   31 …\n…\nNext: run\n"


def test_what_does_not_agree_is_replaced_and_a_gap_alone_is_filled() -> None:
    assert refreshed("kept 500\n", "kept 499\n") == "kept 499\n"
    assert refreshed("…\n", "kept 499\n") == "kept 499\n"
