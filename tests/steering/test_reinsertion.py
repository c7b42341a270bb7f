"""Where placeholders are put into outputs that have lost them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.steering.placeholders import (
    DEFAULT_KINDS,
    KINDS,
    count,
    empty_pairs,
    find_placeholders,
    is_nested,
    without_invented,
)
from dragoman.steering.reinsertion import (
    Wanted,
    crossing,
    diagonal_alignment,
    has_all_placeholders,
    reinsert_by_position,
    reinserted,
    reinsertion_points,
)
from support.garbling import GARBLERS, Garbling

LITERALS = [
    "[X7X]",
    '<x id="7"></x>',
    "%s",
    "{name}",
    "{{ name }}",
    "%1$s",
    "%1",
    "${a}",
    "{a}",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "https://a.de/b?c=d",
    "7",
]
PARTS = st.lists(st.sampled_from([*LITERALS, "a", "dog", " ", " ", ".", ",", "ä"]), max_size=14).map("".join)


def wanted(source: str, prefix: str = "", what: tuple[str, ...] = DEFAULT_KINDS) -> Wanted:
    return Wanted(source, find_placeholders(source, what), what, prefix=prefix)


def at_gaps(source: str, output: str, gaps: list[int]) -> str:
    """With each placeholder where it costs least: at its gap."""
    places = list(range(len(output) + 1))
    return reinserted(output, wanted(source), places, abs(np.array(places) - np.array(gaps)[:, None]))


@settings(max_examples=300)
@given(source=PARTS, output=PARTS, prefix=st.sampled_from(["", "x "]))
def test_an_output_gets_everything_as_often_as_its_source(source: str, output: str, prefix: str) -> None:
    asked = wanted(source, prefix, KINDS)
    text = reinsert_by_position(prefix + output, asked)
    assert [count(one, text) for one in asked.kept] == [count(one, source) for one in asked.kept]
    assert text.startswith(prefix)
    tags = [one.literal for one in asked.kept if one.kind == "tags"]
    if is_nested(tags):
        assert is_nested(one.literal for one in find_placeholders(text, ["tags"]))


WORDS = st.lists(st.sampled_from(["dog", "cat", "ox,"]), min_size=1, max_size=4).map(" ".join)
MARKED = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("biu"), inner).map(lambda one: f"<{one[0]}>{one[1]}</{one[0]}>"),
        st.lists(inner, min_size=2, max_size=3).map(" ".join),
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@given(source=MARKED, output=WORDS, gaps=st.lists(st.integers(0, 12), min_size=40, max_size=40))
def test_no_pair_of_tags_is_emptied(source: str, output: str, gaps: list[int]) -> None:
    """Also if there are fewer words than pairs, and wherever the model has looked."""
    asked = wanted(source)
    text = at_gaps(source, output, gaps[: len(asked.kept)])
    assert has_all_placeholders(text, source, asked.kept)
    assert not empty_pairs(text, find_placeholders(text, ["tags"])), text


@pytest.mark.parametrize(
    ("source", "output", "gaps", "want"),
    [
        ("Click <b>here</b> now.", "Klick hier jetzt.", [6, 6], "Klick <b>hier</b> jetzt."),
        ("Click <b>here</b>.", "Klick hier.", [11, 11], "Klick <b>hier</b>."),
        ("<b>Click</b> <i>here</i>", "Klick", [0, 0, 5, 5], "<b><i>Klick</i></b>"),
        ("<b>{a}</b> now", "jetzt", [0, 0, 0], "<b>{a}</b> jetzt"),
        ("<b></b> now", "jetzt", [0], "<b></b> jetzt"),
        ("To {a}{b}.", "An.", [3, 3], "An {a}{b}."),
        ("To {a} dogs{b}.", "An.", [2, 3], "An {a}{b}."),
    ],
)
def test_placeholders_go_around_and_between_words(
    source: str, output: str, gaps: list[int], want: str
) -> None:
    assert at_gaps(source, output, gaps) == want


@pytest.mark.parametrize(
    ("source", "output", "gaps", "want"),
    [
        ("{a} {b} is a good man.", "Es ist gut.", [0, 0], "{a} {b} Es ist gut."),
        ("%lu of %lu files", "Die Filien.", [0, 0], "%lu %lu Die Filien."),
        ("{} and {} are here", "Hier sind", [5, 5], "Hier {} {} sind"),
        ("%(count)s %(name)s was", "Es wurde", [0, 0], "%(count)s %(name)s Es wurde"),
        ("<x1/> <x2/> has a dog", "Hat er", [4, 4], "Hat <x1/> <x2/> er"),
        ("“{a}”, “{b}” and ({c})", "Hier sind", [4, 4, 4], "Hier {a} {b} {c} sind"),
        ("{a}/{b} dogs", "Hunde da", [0, 0], "{a} {b} Hunde da"),
        ("{a}px by {b}px", "px breit", [0, 0], "{a} {b}px breit"),
        ("{a} and {b}", "犬がいる", [2, 2], "犬が {a} {b}いる"),
        ("“{a}{b}” is", "Er ist", [2, 2], "Er {a}{b} ist"),
        ("“{a}{b}” is", "Er ist", [3, 3], "Er {a}{b} ist"),
        ("“%s%%” is", "Er ist", [2, 2], "Er %s%% ist"),
        ("“<b>{x}</b>” is", "Er ist", [3, 3, 3], "Er <b>{x}</b> ist"),
        ("<b>A {x} dog</b> is", "Hund ist", [0, 0, 4], "<b>{x} Hund</b> ist"),
        ("<b>The {x} dog</b> is", "Hund ist", [0, 4, 4], "<b>Hund {x}</b> ist"),
        ("<b>Dog</b> <i>cat</i>", "Hund Katze", [0, 4, 4, 10], "<b>Hund</b> <i>Katze</i>"),
    ],
)
def test_placeholders_in_one_gap_are_apart_if_they_were(
    source: str, output: str, gaps: list[int], want: str
) -> None:
    assert at_gaps(source, output, gaps) == want


APART = st.lists(
    st.sampled_from(["{a}", "{b}", "%s", "<x1/>", " {c}", "“{d}”", "({e})", " dog ", " - ", ", ", "'s "]),
    max_size=8,
).map("".join)


@settings(max_examples=300)
@given(source=APART, output=WORDS, gaps=st.lists(st.integers(0, 12), min_size=8, max_size=8))
def test_only_what_touched_a_word_does_so_again(source: str, output: str, gaps: list[int]) -> None:
    kept = wanted(source).kept
    if not kept:
        return
    text = at_gaps(source, output, gaps[: len(kept)])
    found = find_placeholders(text, DEFAULT_KINDS)
    assert [one.literal for one in found] == [one.literal for one in kept]
    for one in found:
        text = text[: one.begin] + "\0" * len(one.literal) + text[one.end :]
    assert not re.search(r"\w\0|\0\w", text)
    for (a, b), (c, d) in zip(pairwise(kept), pairwise(found), strict=True):
        assert c.end < d.begin or a.end == b.begin, text


def test_what_the_output_has_of_its_own_is_removed_and_not_cut() -> None:
    assert at_gaps("A {a} dog", "Ein %(x)s Hund", [6]) == "Ein {a} Hund"
    assert "`b c`" in at_gaps("A {a} dog", "Ein `b c` Hund", [6])


@pytest.mark.parametrize(
    ("output", "good"),
    [
        ("Klick <b>hier</b> jetzt.", True),
        ("Jetzt <b>hier</b>.", True),
        ("Klick </b>hier<b> jetzt.", False),
        ("Klick hier <b></b>.", False),
        ("Klick hier <b> </b>.", False),
    ],
)
def test_tags_are_kept_if_they_are_nested_around_words(output: str, good: bool) -> None:
    source = "Click <b>here</b> now."
    assert has_all_placeholders(output, source, find_placeholders(source, DEFAULT_KINDS)) == good


@pytest.mark.parametrize("garbler", GARBLERS)
def test_an_output_has_no_placeholder_that_its_source_has_not(garbler: str) -> None:
    sources = ["Press Ctrl+C", "a dog %r", "a <b>dog</b>, {name}", "Press { or [1]", "%s: %s"]
    for source, (output, *_) in zip(sources, Garbling([garbler])(sources), strict=True):
        given, written = (
            Counter(one.literal for one in find_placeholders(text, DEFAULT_KINDS))
            for text in (source, output)
        )
        assert written == given, (source, output)
        assert "{" in source or "{" not in output


def test_a_percentage_of_the_source_is_no_placeholder_before_its_number() -> None:
    assert without_invented("%50 indirim %51", DEFAULT_KINDS, wanted("50% off").known) == "%50 indirim"


def test_tags_may_be_in_another_order() -> None:
    source = "Click <1>here</1> and <2>there</2>."
    assert has_all_placeholders("Klick <2>dort</2>, <1>hier</1>.", source, find_placeholders(source, KINDS))


def test_the_gap_is_where_the_model_looked() -> None:
    def points(attention: list[int], gaps: list[int], free: list[int]) -> list[int]:
        costs = crossing(np.eye(4, dtype=np.float32)[attention], gaps)[:, free]
        found = reinsertion_points(costs, list(range(len(free))), ())
        assert found is not None
        return [free[n] for n in found]

    assert points([2, 3, 0, 1], [2], [0, 1, 2, 3, 4]) == [0]
    assert points([0, 1, 2, 3], [0, 1, 3, 4], [0, 1, 2, 3, 4]) == [0, 1, 3, 4]
    assert points([0, 1, 2, 3], [1, 2], [0, 3, 4]) == [0, 3]
    assert diagonal_alignment(2, 4).tolist() == [[1, 0, 0, 0], [0, 0, 1, 0]]
    nothing = crossing(np.zeros((0, 3), np.float32), [0, 3])
    assert reinsertion_points(nothing, [0], ()) == [0, 0]
    assert reinsertion_points(nothing, [0], {0}) is None
