"""How often a corpus is read before the first update, and that fewer readings give the same data."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data import examples, prepare
from dragoman.data.build import TrainingData, build_data
from dragoman.data.holdout import choose_held_out, exclude_overlaps
from dragoman.data.pair import Pair
from dragoman.data.pieces import Piece, read_piece
from dragoman.data.readers.bad_line import OnBad
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.text.build import learn

WORDS = ["Haus", "Baum", "Hund", "Katze", "Vogel", "Fisch", "Berg", "Tal", "See", "Fluss"]
TEXT = TextConfig(size=300, sample_lines=200)  # fewer lines than the corpus has


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files of every reading of pairs."""
    found = []

    def counted(files: Any, **more: Any) -> Iterator[Pair]:
        found.append([Path(file).name for file in files])
        return open_pairs(files, **more)

    def counted_piece(piece: Piece, on_bad: OnBad) -> Iterator[Pair]:
        found.append([Path(file).name for file in piece.files])
        return read_piece(piece, on_bad)

    monkeypatch.setattr(examples, "open_pairs", counted)
    monkeypatch.setattr(prepare, "read_piece", counted_piece)
    return found


def write_corpus(folder: Path, name: str, *, labels: bool = False, lines: int = 400) -> list[str]:
    rng = random.Random(name)
    src = [" ".join(rng.choices(WORDS, k=2)) for _ in range(lines)]  # each about four times
    tgt = [rng.choice(["gut", "schlecht"]) if labels else line.lower() for line in src]
    files = [folder / f"{name}.{side}" for side in ("a", "b")]
    for file, side in zip(files, (src, tgt), strict=True):
        file.write_text("".join(line + "\n" for line in side), encoding="utf-8")
    return list(map(str, files))


def built(folder: Path, train: list[str], valid: list[str] | None = None) -> TrainingData:
    held = Corpus(files=valid) if valid else None
    data = DataConfig(train=[Corpus(files=train)], valid=held, hold_out=10)
    return build_data(data, TEXT, folder / "store")


def test_a_corpus_is_read_three_times_if_pairs_are_held_out(tmp_path: Path, reads: list[list[str]]) -> None:
    built(tmp_path, write_corpus(tmp_path, "train"))
    assert reads == [["train.a", "train.b"]] * 3


def test_a_corpus_is_read_twice_if_validation_pairs_are_given(tmp_path: Path, reads: list[list[str]]) -> None:
    built(tmp_path, write_corpus(tmp_path, "train"), write_corpus(tmp_path, "valid", lines=20))
    assert [files for files in reads if files != ["valid.a", "valid.b"]] == [["train.a", "train.b"]] * 2


def test_nothing_is_read_again_for_data_that_is_there(tmp_path: Path, reads: list[list[str]]) -> None:
    train = write_corpus(tmp_path, "train")
    first = built(tmp_path, train)
    reads.clear()
    assert built(tmp_path, train).identity == first.identity
    assert reads == []


@pytest.mark.parametrize("labels", [False, True])
def test_the_vocabulary_is_that_of_a_reading_of_its_own(tmp_path: Path, labels: bool) -> None:
    train = write_corpus(tmp_path, "train", labels=labels)
    data = built(tmp_path, train)
    held = exclude_overlaps(lambda: open_pairs(train), choose_held_out(open_pairs(train), 10))
    assert data.valid == held.valid
    assert bool(held.targets) is not labels
    left = [(pair.src, pair.tgt) for pair in open_pairs(train) if not held.skips(pair)]
    assert 200 < len(left) < 390
    expected = learn(TEXT, iter(left))
    assert [data.text.src.piece(n) for n in range(data.text.src.size)] == [
        expected.src.piece(n) for n in range(expected.src.size)
    ]
