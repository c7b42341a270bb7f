"""Where a loop is repeated too often, by hand and against the words of the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.search.repetition import MAX_PERIOD, first_excess_repeat, max_repeats, may_loop


@pytest.mark.parametrize(
    ("ids", "place"),
    [
        ("", None),
        ("aaa", None),
        ("aaaa", 3),
        ("xaaaab", 4),
        ("ababab", None),
        ("abababa", 6),
        ("abababx", None),
        ("abcabcabcab", 9),
        ("aabaabaabaaaa", 9),
    ],
)
def test_the_fourth_turn_by_hand(ids: str, place: int | None) -> None:
    assert first_excess_repeat([ord(c) for c in ids], 3) == place


def by_the_rule(ids: list[int], repeats: int, shortest: int, start: int) -> int | None:
    """The first place whose token continues a stretch that has come `repeats` times right before it."""
    for place in range(start, len(ids)):
        for p in range(1, MAX_PERIOD + 1):
            whole = max((repeats - 1) * p, shortest - p)
            if place - p - whole >= 0 and all(ids[n] == ids[n - p] for n in range(place - whole, place + 1)):
                return place
    return None


@given(
    st.lists(st.integers(0, 2), max_size=40),
    st.integers(2, 4),
    st.sampled_from([1, 5, 12]),
    st.integers(0, 20),
)
def test_it_is_what_the_rule_says(ids: list[int], repeats: int, shortest: int, start: int) -> None:
    assert first_excess_repeat(ids, repeats, shortest, start) == by_the_rule(ids, repeats, shortest, start)


@given(st.lists(st.integers(0, 4), max_size=30))
def test_the_quick_look_misses_nothing(ids: list[int]) -> None:
    assert may_loop(ids, max_repeats(ids))
    assert first_excess_repeat(ids, 3) is None or may_loop(ids, 4)
