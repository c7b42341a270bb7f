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
    is_nested,
    reinsert,
    remove_placeholders,
    restore_case,
    without_invented,
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
        ("i18next", "Hi {{name}}, <0>see</0> the <1/> and $t(x, y)", "{{name}} <0> </0> <1/> $t(x, y)"),
        ("Qt", "%1 of %2 (%L3), %n file(s), %n files at %4.", "%1 %2 %L3 %n %n %4"),
        ("Rails", "%{count} of #{all} in <%= @x %>", "%{count} #{all} <%= @x %>"),
        ("Ruby", "%<price>.2f for %<n>d, 100%<b>!</b>", "%<price>.2f %<n>d <b> </b>"),
        ("printf", "%s %5.2f %-10s %.*s %*d %ld%% %s%d %1$s", "%s %5.2f %-10s %.*s %*d %ld %% %s %d %1$s"),
        ("gettext", "%<PRIu64> and %'d of %zu", "%<PRIu64> %'d %zu"),
        ("Go", "%[2]d of %v", "%[2]d %v"),
        ("strftime", "at %H:%M on %-d %B %Y", "%H %M %-d %B %Y"),
        ("Python", "{} {0} {name!r:>10} {:.2f} %r", "{} {0} {name!r:>10} {:.2f} %r"),
        ("Python, nested", "{:{width}} {day:%d %B} %(a.b)s", "{:{width}} {day:%d %B} %(a.b)s"),
        (".NET", "on {0:dd MMM yyyy}, {1,-10:N2}", "{0:dd MMM yyyy} {1,-10:N2}"),
        ("Drupal", "@count of %total, me@example.org", "@count %total me@example.org"),
        ("Perl", "$name of US$ 5 and $5", "$name"),
        ("Jinja", "{% if a %}x{% endif %}", "{% if a %} {% endif %}"),
        ("shell", "${HOME} and ${ x }", "${HOME} ${ x }"),
        ("spaces", "a { x } b", "{ x }"),
        ("none", "50% discount, 100 % and 5 %, 20%, 100%ige Sicherheit, 5 %der Fälle, {note: a b}.", ""),
    ],
)
def test_placeholders_of_each_framework_are_whole(framework: str, text: str, want: str) -> None:
    found = [one.literal for one in find_placeholders(text, DEFAULT_KINDS)]
    assert " ".join(found) == want, framework


@pytest.mark.parametrize(
    "message",
    [
        "{n, plural, one {<b>#</b> file} other {<b>#</b> files}}",
        "{g, select, male {He has {n, plural, one {# file in {d}} other {# files}}} other {none}}",
    ],
)
def test_a_message_of_icu_is_whole_whatever_is_in_it(message: str) -> None:
    found = find_placeholders(f"See: {message} of {{a}}.", DEFAULT_KINDS)
    assert [one.literal for one in found] == [message, "{a}"]


@pytest.mark.parametrize(
    ("output", "want"),
    [
        ("Drücken Sie %(model)s jetzt.", "Drücken Sie jetzt."),
        ("Drücken Sie %(model)s.", "Drücken Sie."),
        ("{x} Drücken", "Drücken"),
        ("Ist <b>groß</b>, ist %d %r.", "Ist groß, ist %d."),
        ("{na{y}me} und {{name}}", "und"),
        ("%(D ist %s%(num) {n am", "ist %s am"),
        ("50% von 5 %d, 100%ige `ls` &amp; %% %d %1", "50% von 5 %d, 100%ige `ls` &amp; %d"),
    ],
)
def test_what_the_source_has_not_is_removed_and_ordinary_text_is_not(output: str, want: str) -> None:
    assert without_invented(output, DEFAULT_KINDS, {"%d", "%s", "{name}"}).strip() == want


def test_what_an_output_begins_with_is_not_removed() -> None:
    assert without_invented("%s {x} {x}", DEFAULT_KINDS, (), after=6) == "%s {x}"


@pytest.mark.parametrize(
    ("tags", "nested"),
    [("<a> <b> </b> </a>", True), ("<a> <b> </a> </b>", False), ("</b> <b>", False), ("<b> <br> </b>", True)],
)
def test_tags_are_nested_if_the_last_that_opened_is_closed_first(tags: str, nested: bool) -> None:
    assert is_nested(tags.split()) == nested


def test_numbers_are_kept_if_asked_for() -> None:
    text = "On 3/4 at 10:30 pay 1,200.50 for B2 and 7."
    assert [one.literal for one in find_placeholders(text, ["numbers"])] == ["3/4", "10:30", "1,200.50", "7"]
    assert find_placeholders(text, DEFAULT_KINDS) == []
    (seven,) = find_placeholders("7", KINDS)
    assert count(seven, "17 7 7.") == 2


parts = st.lists(st.sampled_from([*LITERALS, "a", "dog", " ", " ", ".", ",", "ä"]), max_size=14).map("".join)


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


@pytest.mark.parametrize(
    ("source", "output", "place", "want"),
    [
        ("“{pk}” is not a value.", "Er ist kein Wert.", 2, "Er {pk} ist kein Wert."),
        ("“{pk}” is not a value.", "Er ist kein Wert.", 3, "Er {pk} ist kein Wert."),
        ("“{pk}” is not a value.", "“” ist kein Wert.", 1, "“{pk}” ist kein Wert."),
        ("The dog ({name}) is here.", "Der Hund ist hier.", 8, "Der Hund {name} ist hier."),
        ("Of {name}'s book", "Das Buch", 3, "Das {name} Buch"),
        ("Of {name}'s book", "Das Buch", 4, "Das {name} Buch"),
        ("{name}'s book", "Das Buch", 3, "Das {name} Buch"),
        ("Anchor '%s' not found", "Achorch ist weg", 7, "Achorch %s ist weg"),
        ("Of (<x1/>) dogs", "Hunde von", 5, "Hunde <x1/> von"),
        ("The (<b>dog) is", "Der Hund ist", 3, "Der <b>Hund ist"),
        ("The dog</b>) is", "Der Hund ist", 8, "Der Hund</b> ist"),
        ("{n}px wide", "px breit", 0, "{n}px breit"),
        ("prefix{x}suffix", "Präfix-suffix", 7, "Präfix-{x}suffix"),
        ("the {n}th dog", "der te Hund", 4, "der {n}te Hund"),
        ("file%s.txt", "Datei.txt", 5, "Datei%s.txt"),
        ("“{n}” dogs", "犬がいる", 2, "犬が{n}いる"),
        ("“{n}”", "犬がいる", 0, "{n}犬がいる"),
        ("犬{n}匹", "Dogs here", 4, "Dogs {n} here"),
    ],
)
def test_a_placeholder_is_apart_from_words_that_its_source_does_not_put_beside_it(
    source: str, output: str, place: int, want: str
) -> None:
    _, (hole,) = remove_placeholders(source, find_placeholders(source, DEFAULT_KINDS))
    assert reinsert(output, hole, place) == want


def test_capitals_come_back() -> None:
    kept = find_placeholders("[X7X] {Name}", DEFAULT_KINDS)
    assert restore_case("{name} und [x7x], [X7X]", kept) == "{Name} und [X7X], [X7X]"
