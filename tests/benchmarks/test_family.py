"""The benchmarks of the family prepare what they say, and run as they are typed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import typed
from benchmarks.quality import g2p, jfleg, spelling
from benchmarks.quality.english_errors import RULES, corrupt, tokenised

ROOT = Path(__file__).parents[2]
SENTENCES = st.sampled_from(
    [
        "She has lived in the old house for years , and she likes it .",
        "I went to school because my friends were there .",
        "It is n't here .",
        "No",
    ]
)


def test_letters_are_apart_and_hangul_is_taken_apart() -> None:
    assert g2p.letters("aßé", "ger") == "a ß é"
    assert g2p.letters("가나", "kor") == "\u1100 \u1161 \u1102 \u1161"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It isn't here.", "It is n't here ."),
        ('"We\'ll see," he said.', '" We \'ll see , " he said .'),
        ("3.5 (or 4) cups", "3.5 ( or 4 ) cups"),
    ],
)
def test_sentences_are_tokenised(text: str, words: str) -> None:
    assert tokenised(text) == words


@given(SENTENCES, st.integers(0, 1000))
def test_errors_are_made_by_the_seed_and_leave_a_sentence(sentence: str, seed: int) -> None:
    wrong = corrupt(sentence, random.Random(seed))
    assert wrong == corrupt(sentence, random.Random(seed))
    assert wrong.split()
    assert wrong == " ".join(wrong.split())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_makes_errors(rule: object) -> None:
    words = ["She", "has", "lived", "in", "the", "old", "house", ",", "and", "they", "like", "it"]
    seen = set()
    for place in range(len(words)):
        for seed in range(5):
            changed = list(words)
            changed[place : place + 1] = rule(changed, place, random.Random(seed))  # type: ignore[operator]
            seen.add(tuple(changed))
    assert len(seen) > 1


def test_most_sentences_have_errors_and_some_have_none() -> None:
    rng, sentence = random.Random(1), "She has lived in the old house for years ."
    right = sum(corrupt(sentence, rng) == sentence for _ in range(1000))
    assert 100 < right < 250


def test_an_output_that_changes_too_much_is_not_trusted() -> None:
    sources, outputs = ["a b c d", "a b c d"], ["a b c e", "x y z d"]
    assert jfleg.trusted(sources, outputs, 0.3) == ["a b c e", "a b c d"]


def test_made_misspellings_are_no_words_and_of_no_unseen_word() -> None:
    counts = Counter({"house": 3, "horse": 2, "houses": 9, "once": 1, "hidden": 5})
    pairs = spelling.made(counts, {"hidden"})
    assert {word for _, word in pairs} == {"house", "horse", "houses"}
    assert not [wrong for wrong, _ in pairs if wrong in counts]


def test_nothing_that_is_tested_is_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "DATA", tmp_path)
    for file, word in {**dict.fromkeys(spelling.TESTS.values(), "test"), "dev.tsv": "develop"}.items():
        typed.write_pairs(tmp_path / "spelling" / file, [("wrnog", word)])
    typed.write_pairs(tmp_path / "spelling" / "train.tsv", [("wrnog", "wrong"), ("rihgt", "right")])
    typed.write(tmp_path / "tatoeba-deu-eng" / "train.eng", ["Test and test, and develop. Develop!"])
    assert spelling.training_pairs("codespell") == [("rihgt", "right")]
    assert {word for _, word in spelling.training_pairs("words")} == {"right", "and"}


@pytest.mark.slow
def test_scan_is_trained_and_scored_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(f"walk {n % 7} and run {n}", f"WALK RUN {n}") for n in range(400)]
    for split in ("simple.train", "simple.test"):
        typed.write_pairs(tmp_path / "scan" / f"{split}.tsv", pairs[:50] if "test" in split else pairs)
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    words = [str(tmp_path / "out"), "--models", "transformer", "--splits", "simple", "--budget", "5s"]
    command = [sys.executable, "-m", "benchmarks.quality.scan", *words]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8", timeout=600)
    assert done.stdout.startswith("| split | model | parameters | minutes | exact match (95 %) |\n")
    assert "| simple | transformer |" in done.stdout
