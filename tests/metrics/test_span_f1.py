"""Span F₁ against conlleval's rules and seqeval (1.2.2), and the accuracy of tags."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError, UsageError
from dragoman.metrics.report import score
from dragoman.metrics.span_f1 import Span, SpanCounts, by_type, span_f1, spans
from dragoman.metrics.tags import tag_accuracy


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("O O", []),
        ("B-A I-A O B-A", [("A", 0, 2), ("A", 3, 4)]),  # IOB2
        ("I-A I-A B-A O I-B", [("A", 0, 2), ("A", 2, 3), ("B", 4, 5)]),  # IOB1
        ("S-A B-A I-A E-A S-B", [("A", 0, 1), ("A", 1, 4), ("B", 4, 5)]),  # IOBES
        ("I-A I-B", [("A", 0, 1), ("B", 1, 2)]),
        ("B-A I-B", [("A", 0, 1), ("B", 1, 2)]),
        ("O I-A", [("A", 1, 2)]),
        ("E-A E-A", [("A", 0, 1), ("A", 1, 2)]),
        ("E-A I-A", [("A", 0, 1), ("A", 1, 2)]),
        ("S-A I-A", [("A", 0, 1), ("A", 1, 2)]),
        ("B-A E-B", [("A", 0, 1), ("B", 1, 2)]),
        ("B I O B", [("", 0, 2), ("", 3, 4)]),
        ("B-x-y I-x-y I-x", [("x-y", 0, 2), ("x", 2, 3)]),
        ("B-A <unk> I-A", [("A", 0, 1), ("A", 2, 3)]),
    ],
)
def test_spans_begin_and_end_as_in_conlleval(tags: str, found: list[tuple[str, int, int]]) -> None:
    assert list(spans(tags.split())) == [Span(*one) for one in found]


def test_a_tag_may_have_a_no_break_space() -> None:
    """As a tag with a space is read from CoNLL."""
    line = "B\u00a0LOC O"
    assert tag_accuracy([line], [line]).value == 1.0


def iob1(sizes: list[tuple[str, int]]) -> list[str]:
    tags: list[str] = []
    for kind, size in sizes:
        before = tags[-1][2:] if tags else ""
        first = "B" if before == kind else "I"
        tags += ["O"] * size if kind == "O" else [f"{first}-{kind}", *[f"I-{kind}"] * (size - 1)]
    return tags


def iob2(sizes: list[tuple[str, int]]) -> list[str]:
    parts = (["O"] * n if k == "O" else [f"B-{k}", *[f"I-{k}"] * (n - 1)] for k, n in sizes)
    return [tag for part in parts for tag in part]


def iobes(sizes: list[tuple[str, int]]) -> list[str]:
    def part(kind: str, size: int) -> list[str]:
        if kind == "O":
            return ["O"] * size
        return [f"S-{kind}"] if size == 1 else [f"B-{kind}", *[f"I-{kind}"] * (size - 2), f"E-{kind}"]

    return [tag for kind, size in sizes for tag in part(kind, size)]


@given(st.lists(st.tuples(st.sampled_from("ABO"), st.integers(1, 4))))
def test_three_schemes_write_the_same_spans(sizes: list[tuple[str, int]]) -> None:
    place, wanted = 0, []
    for kind, size in sizes:
        if kind != "O":
            wanted.append(Span(kind, place, place + size))
        place += size
    for scheme in (iob1, iob2, iobes):
        assert list(spans(scheme(sizes))) == wanted


def random_tags() -> tuple[list[str], list[str]]:
    rng = random.Random(7)
    tags = [f"{prefix}-{kind}" for prefix in "BIES" for kind in ("PER", "LOC")] + ["O", "O", "O"]
    gold = [[rng.choice(tags) for _ in range(rng.randrange(1, 12))] for _ in range(300)]
    pred = [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in line] for line in gold]
    return [" ".join(line) for line in pred], [" ".join(line) for line in gold]


def test_malformed_tags_are_counted_as_seqeval_does() -> None:
    outputs, wanted = random_tags()
    assert span_f1(outputs, wanted).value == pytest.approx(0.7423687423687424)
    found = by_type(outputs, wanted)
    assert list(found) == ["LOC", "PER"]
    assert found["LOC"].precision == pytest.approx(76.39344262295082)
    assert found["LOC"].recall == pytest.approx(75.2827140549273)
    assert found["PER"].f1 == pytest.approx(72.63843648208468)
    assert sum(one.wanted for one in found.values()) == 1240


def test_counts_by_hand() -> None:
    outputs, wanted = ["B-A I-A O B-B", "O O"], ["B-A I-A B-A O", "B-B O"]
    assert by_type(outputs, wanted) == {"A": SpanCounts(1, 1, 2), "B": SpanCounts(0, 1, 1)}
    assert span_f1(outputs, wanted).value == pytest.approx(2 * 1 / (2 + 3))
    assert tag_accuracy(outputs, wanted).value == pytest.approx(3 / 6)


def test_outputs_without_spans_score_nothing() -> None:
    assert span_f1(["O O"], ["B-A O"]).percent == 0
    assert by_type(["O"], ["O"]) == {}


def test_lines_of_another_length_are_refused_with_their_number() -> None:
    with pytest.raises(DataError, match="3 tags and the reference 2") as error:
        score(["O", "O O O"], ["O", "O B-A"], metrics=["span_f1"])
    assert error.value.where == "line 2"


def test_tags_without_spans_are_refused_by_name() -> None:
    with pytest.raises(DataError, match='"NOUN" is no tag of a span'):
        score(["NOUN"], ["NOUN"], metrics=["span_f1"])
    assert score(["NOUN"], ["NOUN"], metrics=["tag_accuracy"]).scores["tag_accuracy"].value == 100


def test_tags_have_one_reference() -> None:
    with pytest.raises(UsageError, match="compares with one reference, and there are 2"):
        score(["O"], ["O"], ["O"], metrics=["tag_accuracy"])
