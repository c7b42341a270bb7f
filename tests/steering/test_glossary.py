"""Glossaries: files, and finding their terms."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import DataError
from dragoman.steering.glossary import Entry, Glossary, alternatives, from_mapping, read_glossary
from dragoman.steering.words import agrees, is_inside, occurrences

TERMS = {
    "bike": "Fahrrad",
    "bike lane": "Radweg",
    "US": "USA",
    "New York": "New York",
    "c++": "C++",
    "車": "Auto",
}


def found(text: str, terms: dict[str, str] = TERMS) -> list[str]:
    return [text[one.begin : one.end] for one in from_mapping(terms).find(text)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("The bike lane and the bike.", ["bike lane", "bike"]),
        ("Bike, BIKE and bikes; e-bike", ["Bike", "BIKE", "bike"]),
        ("Give us the US.", ["US"]),
        ("bike  lane\tbike\u00a0lane", ["bike  lane", "bike\u00a0lane"]),
        ("new york, New York, NEW YORK", ["New York"]),
        ("C++, xc++, (C++)", ["C++", "C++"]),
        ("motorbike bike_ 7bike", []),
        ("新車は", ["車"]),
        ("", []),
        ("bike", ["bike"]),
    ],
)
def test_terms_are_whole_words_the_longest_first(text: str, want: list[str]) -> None:
    assert found(text) == want


INVISIBLE_IN_TEXTS = ["\u00ad", "\u200b", "\u2060\u200d"]


@pytest.mark.parametrize("hidden", INVISIBLE_IN_TEXTS)
def test_an_invisible_character_is_no_end_of_a_word(hidden: str) -> None:
    assert found(f"bike{hidden}shop, motor{hidden}bike") == []
    assert found(f"{hidden}bike{hidden} bike{hidden}.") == ["bike", "bike"]
    assert list(occurrences("Fahrrad", f"Fahrrad{hidden}er, Fahrrad{hidden}.")) == [11 + len(hidden)]


def test_a_term_as_it_is_written_goes_before_one_in_small_letters() -> None:
    terms = from_mapping({"apple": "Apfel", "Apple": "Apple"})
    assert [one.entry.target[0] for one in terms.find("Apple apple APPLE")] == ["Apple", "Apfel", "Apfel"]


def test_nothing_is_found_in_what_is_taken() -> None:
    assert [one.begin for one in from_mapping(TERMS).find("bike bike", [(0, 4)])] == [5]


words = st.lists(st.sampled_from(["a", "b", "A", "ab", "ba b", "b a"]), min_size=1, max_size=4, unique=True)


@given(terms=words, text=st.text("abAB -", max_size=30))
def test_what_is_found_is_a_term_and_nothing_is_overlooked(terms: list[str], text: str) -> None:
    glossary = from_mapping(dict.fromkeys(terms, "x"))
    spans = [(one.begin, one.end) for one in glossary.find(text)]
    assert all(stands(terms, text, *span) for span in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    for begin in range(len(text)):
        ends = [end for end in range(begin + 1, len(text) + 1) if stands(terms, text, begin, end)]
        is_covered = any(b <= begin < e for b, e in spans)
        assert not ends or is_covered
        if (begin, max(ends, default=0)) not in spans and ends:
            assert any(b < begin < e for b, e in spans)  # within an earlier one


def stands(terms: list[str], text: str, begin: int, end: int) -> bool:
    if is_inside(text, begin) or is_inside(text, end) or text[begin].isspace() or text[end - 1].isspace():
        return False
    return any(agrees(term, " ".join(text[begin:end].split())) for term in terms)


def test_a_file_has_a_term_a_line(tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_bytes("\ufeffbike|bicycle\tFahrrad|Rad\r\n\na \\| b\t x  y \n".encode())
    assert read_glossary(file).entries == (
        Entry(("bike", "bicycle"), ("Fahrrad", "Rad")),
        Entry(("a | b",), ("x y",)),
    )
    assert alternatives("a||b|a") == ("a", "b")
    assert Glossary([]).find("a b") == []


@pytest.mark.parametrize(
    ("raw", "what", "where"),
    [
        (b"bike Fahrrad\n", "has no tab", "terms.tsv:1"),
        (b"a\tb\nbike\tFahrrad\ten\n", "more than one tab", "terms.tsv:2"),
        (b"bike\t \n", "is empty", "terms.tsv:1"),
        (b"a\tb\nbike\tF\xe4hre\n", "not UTF-8: e4 68 72 65", "terms.tsv:2"),
        (b"a\tb\nc\td\na\tx\n", '"a" twice', "terms.tsv:3, and line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, raw: bytes, what: str, where: str) -> None:
    file = tmp_path / "terms.tsv"
    file.write_bytes(raw)
    with pytest.raises(DataError) as error:
        read_glossary(file)
    assert what in error.value.what
    assert error.value.where.endswith(where)
    assert error.value.hint


@pytest.mark.parametrize("heading", ["source\ttarget", "en\tde", "Source\tTarget"])
def test_a_heading_is_no_term(tmp_path: Path, heading: str) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text(f"{heading}\nbike\tFahrrad\nde\ten\n")
    assert [entry.source for entry in read_glossary(file).entries] == [("bike",), ("de",)]


def test_a_mapping_needs_words_on_both_sides() -> None:
    with pytest.raises(DataError, match="empty"):
        from_mapping({"a": []})
    assert from_mapping({"a|b": ["x|y"]}).entries == (Entry(("a", "b"), ("x|y",)),)
