"""A target that does not fit into the frames of its source is refused before training, by its line."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.data.examples import Examples, Files
from dragoman.data.pair import Pair
from dragoman.data.prepare import PairFilter
from dragoman.data.readers.bad_line import Skipped
from dragoman.data.signals.corpus import Signals
from dragoman.data.store.layout import Frames
from dragoman.errors import DataError
from dragoman.losses.ctc_frames import FrameCount
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.char import Char
from dragoman.text.vocabulary import Vocabulary

LETTERS = Char(Vocabulary("ab"))
TEXT = TokenizerPair(LETTERS, LETTERS, joint=True)


def test_it_is_named() -> None:
    examples = Examples(frames=FrameCount(split=2))
    pairs = [Pair("a", "abab", 1), Pair("a", "aab", 2), Pair("a", "aabb", 3)]
    encode = examples.encode(longest=9, skip=None)
    assert encode(pairs[:2], TEXT).counts["kept"] == 2
    assert isinstance(encode, PairFilter)
    found = encode._replace(listed_in="train.tgt")(pairs, TEXT)
    assert (found.counts["read"], found.counts["kept"]) == (2, 2)
    (bad,) = found.bad
    assert bad.error.where == "train.tgt:3"
    assert bad.error.what == "The target needs 6 frames, but its source has 4."
    rows = examples.validation_rows(pairs, TEXT, 9)
    assert [pair.line for pair, _ in rows] == [1, 2]


@pytest.mark.parametrize(
    ("count", "lengths"),
    [
        (FrameCount(), {1: 2, 7: 8}),
        (FrameCount(shortening=4, ends=0), {1: 1, 4: 1, 5: 2, 8: 2}),
        (FrameCount(shortening=2, split=3, ends=0), {3: 6}),
    ],
)
def test_frames_are_counted(count: FrameCount, lengths: dict[int, int]) -> None:
    assert {length: count(length) for length in lengths} == lengths


def test_a_held_out_file_that_cannot_be_read_is_skipped_if_asked_for() -> None:
    def read(file: Path) -> NDArray[np.uint8]:
        if file.name == "bad.png":
            raise DataError("This picture cannot be read.", where=str(file))
        return np.zeros((3, 2), np.uint8)

    examples = Files(signals=Signals(read, Frames("uint8", 2), 9, ""))
    pairs = [Pair("good.png", "ab", 1), Pair("bad.png", "a", 2), Pair("other.png", "b", 3)]
    skipped = Skipped()
    rows = examples.validation_rows(pairs, TEXT, 9, skipped)
    assert ([pair.src for pair, _ in rows], skipped.count) == (["good.png", "other.png"], 1)
    with pytest.raises(DataError, match="cannot be read") as caught:
        examples.validation_rows(pairs, TEXT, 9)
    assert "bad.png" in caught.value.where
