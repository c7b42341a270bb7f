"""What is kept: found, taken out, put in, and counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.steering.placeholders import (
    DEFAULT_KINDS,
    KINDS,
    count,
    find_placeholders,
    reinsert,
    remove_placeholders,
    restore_case,
    restore_counts,
)

LITERALS = [
    "[X7X]",
    '<x id="7"></x>',
    "%s",
    "{name}",
    "%1$s",
    "${a}",
    "{a}",
    "<b>",
    "</b>",
    "https://a.de/b?c=d",
    "7",
]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Hi [X7X], %s {name} %(n)s!", ["[X7X]", "%s", "{name}", "%(n)s"]),
        ('a <x id="7"></x> <b>c</b><br/> &amp; 1 < 2', ['<x id="7"></x>', "<b>", "</b>", "<br/>", "&amp;"]),
        (
            "See https://a.de/b?c={d}. Or www.a.de, a.b@c.de!",
            ["https://a.de/b?c={d}", "www.a.de", "a.b@c.de"],
        ),
        ("50% discount, 100 %, {{n}} ${n} %05.2f", ["{{n}}", "${n}", "%05.2f"]),
        ("[note] (a) {} 3 < 4 > 2", ["{}"]),
        (
            "You have {n, plural, one {# file of {m}} other {# files}} at {t, time}.",
            ["{n, plural, one {# file of {m}} other {# files}}", "{t, time}"],
        ),
        ("Hi :name, at 10:30, see: this :count::x", [":name"]),
        (r"One\nTwo __TOKEN_7__ a__b 50%% of `x = 1`", [r"\n", "__TOKEN_7__", "%%", "`x = 1`"]),
    ],
)
def test_usual_things_are_found(text: str, want: list[str]) -> None:
    assert [one.literal for one in find_placeholders(text, DEFAULT_KINDS)] == want


@pytest.mark.parametrize(
    ("framework", "text", "want"),
    [
        (
            "Symfony",
            "It should be {{ limit }} or more, %count% of %user_name%.",
            "{{ limit }} %count% %user_name%",
        ),
        ("Django", "Hi {{ user.name|title }}, %(n)d of %(all)s", "{{ user.name|title }} %(n)d %(all)s"),
        ("i18next", "Hi {{name}}, <0>see</0> the <1/> and $t(x)", "{{name}} <0> </0> <1/>"),
        ("Qt", "%1 of %2 (%L3), %n file(s), %n files", "%1 %2 %L3 %n %n"),
        ("Rails", "%{count} of #{all} in <%= @x %>", "%{count} #{all} <%= @x %>"),
        ("printf", "%s %5.2f %-10s %.*s %*d %ld%% %s%d %1$s", "%s %5.2f %-10s %.*s %*d %ld %% %s %d %1$s"),
        ("Python", "{} {0} {name!r:>10} {:.2f} %r", "{} {0} {name!r:>10} {:.2f} %r"),
        ("shell", "${HOME} and ${ x }", "${HOME} ${ x }"),
        ("spaces", "a { x } b", "{ x }"),
        ("none", "50% discount, 100 % and 5 %, 20%.", ""),
    ],
)
def test_placeholders_of_each_framework_are_whole(framework: str, text: str, want: str) -> None:
    found = [one.literal for one in find_placeholders(text, DEFAULT_KINDS)]
    assert " ".join(found) == want, framework


def test_numbers_are_kept_if_asked_for() -> None:
    text = "On 3/4 at 10:30 pay 1,200.50 for B2 and 7."
    assert [one.literal for one in find_placeholders(text, ["numbers"])] == ["3/4", "10:30", "1,200.50", "7"]
    assert find_placeholders(text, DEFAULT_KINDS) == []
    (seven,) = find_placeholders("7", KINDS)
    assert count(seven, "17 7 7.") == 2


parts = st.lists(st.sampled_from([*LITERALS, "a", "dog", " ", " ", ".", ",", "ä"]), max_size=14).map("".join)


@settings(max_examples=300)
@given(source=parts, output=parts, after=st.integers(0, 5))
def test_a_mended_text_has_everything_as_often_as_the_source(source: str, output: str, after: int) -> None:
    kept = find_placeholders(source, KINDS)
    head = "x" * min(after, 1)
    text = restore_counts(head + output, source, kept, after=len(head))
    assert [count(one, text) for one in kept] == [count(one, source) for one in kept]
    assert text.startswith(head)


@settings(max_examples=200)
@given(source=parts)
def test_what_is_taken_out_can_be_put_back(source: str) -> None:
    kept = find_placeholders(source, DEFAULT_KINDS)
    left, holes = remove_placeholders(source, kept)
    assert len(holes) == len(kept)
    text = left
    for hole in reversed(holes):
        text = reinsert(text, hole, hole.place)
    assert text.replace(" ", "") == source.replace(" ", "")


@pytest.mark.parametrize(
    ("source", "left", "output", "place", "want"),
    [
        ("a [X1X] b", "a b", "A B", 1, "A [X1X] B"),
        ("a b [X1X].", "a b .", "A B.", 3, "A B [X1X]."),
        ("[X1X] a", "a", "A", 0, "[X1X] A"),
        ("a <b>b", "a b", "A B", 1, "A <b>B"),
        ("a</b> b", "a b", "A B", 1, "A</b> B"),
        ("a {n}, b", "a , b", "A, B", 1, "A {n}, B"),
        ("a %s", "a ", "A", 1, "A %s"),
    ],
)
def test_spaces_go_back_as_they_were(source: str, left: str, output: str, place: int, want: str) -> None:
    text, (hole,) = remove_placeholders(source, find_placeholders(source, DEFAULT_KINDS))
    assert text == left
    assert reinsert(output, hole, place) == want


def test_capitals_come_back() -> None:
    kept = find_placeholders("[X7X] {Name}", DEFAULT_KINDS)
    assert restore_case("{name} und [x7x], [X7X]", kept) == "{Name} und [X7X], [X7X]"
