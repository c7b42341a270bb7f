"""card.md says what the model is, from what, how well, and under which licences."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.config.load import validate
from dragoman.config.root import Config
from dragoman.metrics.report import score
from dragoman.training.card import model_card

FACTS: dict[str, Any] = {
    "step": 6000, "seconds": 3700.0, "chosen": "average", "parameters": 2_099_568,
    "valid": {"loss": 1.59, "bleu": 38.05, "chrf": 51.8},
    "sample": {"src": "a `man`\u001b[2J", "out": "ein mann", "ref": "Ein Mann"},
    "pairs": 29_000, "tgt_tokens": 400_000, "watched": 1014, "decoded": 500,
    "search": {"pairs": 500, "metric": "chrf", "greedy": 50.2, "beam": 51.8},
}  # fmt: skip


def config(**text: Any) -> Config:
    train = [
        {"files": ["/home/me/a.en", "/home/me/a.de"], "licence": "CC BY 2.0 FR"},
        {"files": ["b.tsv"], "weight": 2},
    ]
    return validate({"data": {"train": train}, "text": text})


def test_card_has_data_scores_with_signatures_licences_and_a_citation() -> None:
    card = model_card(config(), FACTS)
    for line in (
        "29,000 pairs, 400,000 target tokens",
        "- a.en + a.de (weight 1)",
        "- a.en + a.de: CC BY 2.0 FR",
        "- b.tsv: not stated",
        "6,000 updates in 61.7 minutes",
        "@software{dragoman,",
        "at most 256 tokens",
        "the first 500 validation pairs",
        "greedy search scores 50.2 chrF and the beam 51.8",
    ):
        assert line in card
    assert "/home/me" not in card  # where files lay is no one's business
    assert "lower case" not in card
    assert "It reads and writes lower case." in model_card(config(lowercase=True), FACTS)


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_signatures_are_those_of_the_scores(metric: str) -> None:
    signature = score(["ein Mann"] * 3, ["ein Mann"] * 3).scores[metric].signature
    signature = signature.replace("bs:1000|seed:12345|", "")  # the card has no intervals
    assert f"| {signature} |" in model_card(config(), FACTS)


def test_a_sample_cannot_break_the_page_or_a_terminal() -> None:
    card = model_card(config(), FACTS)
    assert "- source: `a 'man' [2J`" in card
    assert "\u001b" not in card
