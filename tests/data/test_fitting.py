"""A target that does not fit into the frames of its source is refused before training, by its line."""

import pytest

from dragoman.data.fitting import FittingExamples
from dragoman.data.pair import Pair
from dragoman.errors import DataError
from dragoman.losses.ctc_frames import FrameCount
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.char import Char
from dragoman.text.vocabulary import Vocabulary

LETTERS = Char(Vocabulary("ab"))
TEXT = TokenizerPair(LETTERS, LETTERS, joint=True)


def test_it_is_named() -> None:
    examples = FittingExamples(frames=FrameCount(split=2))
    pairs = [Pair("a", "abab", 1), Pair("a", "aab", 2), Pair("a", "aabb", 3)]
    encode = examples.encode(longest=9, skip=None)
    assert encode(pairs[:2], TEXT).counts["kept"] == 2
    with pytest.raises(DataError) as error:
        encode(pairs, TEXT)
    assert error.value.where == "line 3: aabb"
    assert error.value.what == "The target needs 6 frames, but its source has 4."
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
