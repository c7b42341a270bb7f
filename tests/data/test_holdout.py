from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.clean.normalise import normalise
from dragoman.data.holdout import HeldOut, Overlaps, Pairs, choose_held_out, exclude_overlaps
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.split import split
from dragoman.errors import DataError


def hold_out(pairs: Pairs, count: int) -> HeldOut:
    return exclude_overlaps(pairs, choose_held_out(pairs(), count))


def corpus(size: int) -> list[Pair]:
    return [Pair(f"Source {n}.", f"Ziel {n}!", n + 1) for n in range(size)]


def test_as_many_as_asked_but_one_in_twenty_at_most_and_one_at_least() -> None:
    for size, count, expected in ((2000, 50, 50), (200, 50, 10), (10, 50, 1)):
        assert len(hold_out(lambda n=size: iter(corpus(n)), count).valid) == expected


def test_the_choice_depends_on_content_not_on_order() -> None:
    pairs = corpus(500)
    shuffled = random.Random(0).sample(pairs, len(pairs))
    others = [Pair(pair.src.replace("Source", "Text"), pair.tgt, pair.line) for pair in pairs]
    chosen = [hold_out(lambda p=p: iter(p), 20).valid for p in (pairs, shuffled, others)]
    assert chosen[0] == chosen[1]
    assert [pair.line for pair in chosen[0]] != [pair.line for pair in chosen[2]]


words = st.sampled_from(["a", "A.", "b", "B!", "c d", "C  D", "e", "f", "g h", "i", "", " "])


@given(st.lists(st.tuples(words, words), min_size=1, max_size=60), st.integers(1, 5))
@settings(deadline=None)
def test_no_held_out_pair_is_trained_on(texts: list[tuple[str, str]], count: int) -> None:
    pairs = [Pair(src, tgt, n) for n, (src, tgt) in enumerate(texts, 1)]
    try:
        held = hold_out(lambda: iter(pairs), count)
    except DataError:
        return
    train = {(normalise(pair.src), normalise(pair.tgt)) for pair in pairs if not held.skips(pair)}
    assert not train & {(normalise(pair.src), normalise(pair.tgt)) for pair in held.valid}
    assert held.valid


def test_neither_side_of_a_held_out_pair_is_trained_on() -> None:
    pairs = corpus(400) + [Pair(f"source {n}", f"Anderes {n}", 1000 + n) for n in range(0, 400, 3)]
    pairs += [Pair(f"Other {n}", f"ZIEL {n}", 2000 + n) for n in range(0, 400, 5)]
    held = hold_out(lambda: iter(pairs), 20)
    train = [pair for pair in pairs if not held.skips(pair)]
    assert not {normalise(p.src) for p in train} & {normalise(p.src) for p in held.valid}
    assert not {normalise(p.tgt) for p in train} & {normalise(p.tgt) for p in held.valid}
    assert len(train) > 500


def test_labels_do_not_empty_the_training_set() -> None:
    pairs = [Pair(f"Text number {n}", f"label {n % 5}", n + 1) for n in range(400)]
    held = hold_out(lambda: iter(pairs), 20)
    assert sum(not held.skips(pair) for pair in pairs) == 380
    reverse = [Pair(pair.tgt, pair.src, pair.line) for pair in pairs]
    held = hold_out(lambda: iter(reverse), 20)
    assert sum(not held.skips(pair) for pair in reverse) == 380


def test_a_label_is_not_held_out_with_its_last_example() -> None:
    pairs = [Pair(f"Text number {n}", f"label {n % 150}", n + 1) for n in range(200)]
    overlaps = Overlaps(pairs[40:60], "labels")
    list(overlaps.excluded_from(pairs))
    held = overlaps.held_out()
    assert held.valid == pairs[40:50]  # labels 50 to 59 occur once
    assert sum(not held.skips(pair) for pair in pairs) == 190
    alone = Overlaps(pairs[50:60], "labels")
    list(alone.excluded_from(pairs))
    with pytest.raises(DataError, match="No line can be held out"):
        alone.held_out()


def test_sentences_with_the_tags_of_a_held_out_one_are_trained_on() -> None:
    """The tags of a short sentence are often those of another; of 400 here, every fifth has O O."""
    pairs = [
        Pair(
            f"word {n}", "O O" if n % 5 == 0 else " ".join(f"{n:09b}".replace("1", "B").replace("0", "O")), n
        )
        for n in range(1, 401)
    ]
    overlaps = Overlaps(choose_held_out(pairs, 20), "tags")
    list(overlaps.excluded_from(pairs))
    held = overlaps.held_out()
    assert len(held.valid) == 20
    assert any(pair.tgt == "O O" for pair in held.valid)
    assert sum(not held.skips(pair) for pair in pairs) == 380


def test_split_keeps_sentences_that_share_their_tags(tmp_path: Path) -> None:
    pairs = [Pair(f"word {n}", "O O" if n % 5 == 0 else f"O B{n}", n) for n in range(1, 401)]
    parts = split(lambda: iter(pairs), [Path("a.tsv")], 20, 1, tmp_path / "out", "tags")
    assert {name: part.pairs for name, part in parts.items()} == {"train": 360, "valid": 20, "test": 20}


@pytest.mark.parametrize("pairs", [[], corpus(1), [Pair("a", "b", 1)] * 100, [Pair("", "", 1)] * 100])
def test_too_little_to_hold_out_is_said(pairs: list[Pair]) -> None:
    with pytest.raises(DataError) as caught:
        hold_out(lambda: iter(pairs), 10)
    assert "--valid" in caught.value.hint


def test_split_writes_three_parts_that_share_nothing(tmp_path: Path) -> None:
    pairs = [*corpus(300), Pair("ends in\r", "x", 301)]

    def again() -> Iterator[Pair]:
        return iter(pairs)

    parts = split(again, [Path("a.en"), Path("a.de.gz")], 10, 1, tmp_path / "out")
    assert {name: part.pairs for name, part in parts.items()} == {"train": 281, "valid": 10, "test": 10}
    assert [file.name for file in parts["test"].files] == ["test.en", "test.de"]
    read = [pair[:2] for part in parts.values() for pair in open_pairs(part.files)]
    assert sorted(read) == sorted(pair[:2] for pair in pairs)
    with pytest.raises(DataError, match="already exists"):
        split(again, [Path("a.en"), Path("a.de.gz")], 10, 1, tmp_path / "out")
