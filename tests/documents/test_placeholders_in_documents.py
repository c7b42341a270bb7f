"""Strings of ten frameworks through documents, and a model that garbles them: each is kept or flagged."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.garbling import GARBLERS, Garbling
from support.placeholder_documents import FORMATS, Outcome, outcomes

STRINGS = {
    "Django": (r"%\(\w+\)[sd]|\{\{[^}]*\}\}", ["%(n)d of %(all)s dogs", "Good day, {{ user.name }}!"]),
    "Symfony": (r"\{\{ \w+ \}\}|%\w+%", ["At least {{ limit }} dogs.", "%count% dogs of %owner_name%"]),
    "Qt": (r"%L?\d|%n", ["The dog %1 bit %2.", "%n dog(s) of %L1", "%1% of the dogs"]),
    "i18next": (r"\{\{\w+\}\}|</?\w+>", ["The dog {{name}} <0>barks</0> at <1>me</1>"]),
    "Rails": (r"%\{\w+\}|%<\w+>\.?\d*[a-z]", ["%{count} dogs by %{owner}", "It costs %<price>.2f a dog"]),
    "ICU": (
        r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}",
        ["Walk {n, plural, one {# dog} other {# dogs}} of {owner}", "{d, date, short}: dogs"],
    ),
    "printf": (r"%%|%[-\d.*lz$]*[a-z]", ["%s: %d dogs, %5.1f%% asleep", "%2$s before %1$s, %zu in all"]),
    "Python's format": (r"\{[^{}]*\}", ["{} dogs of {owner!r:>10}", "{0:.2f} dogs on {day:%d %B}"]),
    "Laravel": (r"(?<!\S):\w+", ["A dog of :owner barks at :name"]),
    "HTML": (r"<[^<>]*>|&\w+;", ['A <a href="x">dog</a> and<br> a <b>cat</b>', "dogs &amp; <i>cats</i>"]),
}
CASES = [(text, style) for style, texts in STRINGS.values() for text in texts]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_placeholder_is_kept_or_flagged_whatever_the_model_does(kind: str, tmp_path: Path) -> None:
    cases = CASES * len(GARBLERS)  # so that each string meets each way of garbling
    found = outcomes(cases, kind, tmp_path, Garbling())
    wrong = [one for one in found if one.verdict not in ("kept", "flagged")]
    assert not wrong
    kept = sum(one.verdict == "kept" for one in found)
    assert kept >= 0.95 * len(found), [one for one in found if one.verdict == "flagged"]


def test_a_placeholder_that_is_lost_or_cut_is_seen() -> None:
    style = r"%\(\w+\)s"
    assert Outcome("%(n)s dogs", "%(n)s Hunde", (), style).verdict == "kept"
    assert Outcome("%(n)s dogs", "Hunde", (), style).verdict == "lost"
    assert Outcome("%(n)s dogs", "%(n Hunde", (), style).verdict == "cut"
    assert Outcome("%(n)s dogs", "Hunde", ("placeholder_mismatch",), style).verdict == "flagged"
