"""Words without a counterpart, by a lexicon of a language with three words."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.analysis.counterparts import Counterparts, counterparts, hallucinations, omissions, suspects
from dragoman.analysis.lexicon import Lexicon

WORDS = {"dog": "hund", "cat": "katze", "sees": "sieht", "big": "groß", "red": "rot", "house": "haus"}
PAIRS = [
    ([a, b, c], [WORDS[a], WORDS[b], WORDS[c]])
    for a in WORDS
    for b in WORDS
    for c in WORDS
    if a < b < c or c < b < a
]


@pytest.fixture(scope="module")
def forward() -> Lexicon:
    return Lexicon(PAIRS, iterations=10)


@pytest.fixture(scope="module")
def reverse() -> Lexicon:
    return Lexicon([(tgt, src) for src, tgt in PAIRS], iterations=10)


def test_the_lexicon_knows_the_words(forward: Lexicon) -> None:
    t = forward.t(["dog", "cat"], ["hund", "katze", "haus"])
    assert t.shape == (3, 3)  # one more column, for the empty word
    assert t[:2, :2].argmax(axis=1).tolist() == [0, 1]
    assert t[0, 0] > 0.8
    assert forward.best("dog") == pytest.approx(t[0, 0])
    assert forward.best("zebra") == 0


def test_unknown_words_are_translated_by_themselves(forward: Lexicon) -> None:
    assert np.array_equal(forward.t(["zorro", "dog"], ["zorro", "x"])[:, 0], [1.0, 0.0])
    assert forward.t(["dog"], ["zorro"])[0, 0] == 0


def test_counterparts_by_hand(forward: Lexicon) -> None:
    found = counterparts(["big", "dog", "zebra"], ["hund"], forward)
    assert found == Counterparts(2, ("big",))  # nothing is known of zebras
    assert found.share == 0.5
    assert counterparts(["dog"], [], forward) == Counterparts(1, ("dog",))
    assert counterparts([], ["hund"], forward) == Counterparts(0, ())


def test_omissions_and_hallucinations(forward: Lexicon, reverse: Lexicon) -> None:
    source = ["big", "red", "dog", "sees", "cat"]
    reference = [WORDS[word] for word in source]
    outputs = [reference, reference[2:], [*reference, "haus"], ["haus", "haus", "katze"]]
    sources, references = [source] * 4, [reference] * 4
    omitted = omissions(sources, outputs, references, forward)
    assert omitted.words == ((), ("big", "red"), (), ("big", "red", "dog", "sees"))
    assert (omitted.outputs, omitted.references) == pytest.approx((100 * 6 / 20, 0))
    invented = hallucinations(sources, outputs, references, reverse)
    assert invented.words == ((), (), (), ())  # one word, twice
    assert invented.outputs == pytest.approx(100 * 2 / 17)


def test_references_set_the_standard() -> None:
    loose = [Counterparts(4, ("a", "b"))] * 4
    assert suspects(loose, loose, [()] * 4).words == ((),) * 4
    strict = [Counterparts(4, ())] * 4
    assert suspects(loose, strict, [(), ("a",), (), ()]).words == (("a", "b"), (), ("a", "b"), ("a", "b"))
