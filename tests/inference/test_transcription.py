"""A transcription has its text, and the frames and the confidence of each character."""

import numpy as np
import pytest

from dragoman.errors import DataError
from dragoman.inference.transcription import CTCSearch, aligned, transcription
from dragoman.text.tokenizers.char import Char
from dragoman.text.vocabulary import Vocabulary

TEXT = Char(Vocabulary("ab "))
A, B, SPACE, BLANK = 4, 5, 6, 7


def frames(path: list[int], p: float = 0.9) -> np.ndarray:
    y = np.full((len(path), 8), (1 - p) / 7, dtype=np.float32)
    y[np.arange(len(path)), path] = p
    return np.log(y)


@pytest.mark.parametrize("size", [0, 4])
def test_characters_have_frames_and_confidence(size: int) -> None:
    log_y = frames([BLANK, A, A, SPACE, BLANK, B, BLANK, B])
    found = transcription(log_y, TEXT, CTCSearch(size)(log_y)[:1])
    assert found.text == "a bb"
    spans = [(c.text, c.start, c.end) for c in found.characters]
    assert spans == [("a", 1, 3), (" ", 3, 4), ("b", 5, 6), ("b", 7, 8)]
    assert [c.confidence for c in found.characters] == pytest.approx([0.9] * 4)
    assert found.alternatives == ()
    assert found.asdict()["characters"][0]["text"] == "a"


def test_confidence_is_the_probability_of_the_text() -> None:
    log_y = frames([A, BLANK], p=0.6)
    found = transcription(log_y, TEXT, CTCSearch(64)(log_y)[:3])
    y = np.exp(log_y.astype(np.float64))
    assert found.confidence == pytest.approx(y[0, A] * (y[1, BLANK] + y[1, A]) + y[0, BLANK] * y[1, A])
    assert found.alternatives[0].text == found.text == "a"
    assert len(found.alternatives) == len(found.asdict()["alternatives"]) == 3


def test_empty_transcription() -> None:
    log_y = frames([BLANK] * 3)
    found = transcription(log_y, TEXT, CTCSearch(4)(log_y)[:1])
    assert (found.text, found.characters) == ("", ())


def test_given_text_is_aligned() -> None:
    log_y = frames([A, A, BLANK, B])
    assert [c[:3] for c in aligned(log_y, TEXT, TEXT.encode("ab"), "ab")] == [("a", 0, 2), ("b", 3, 4)]
    with pytest.raises(DataError, match="has no path over 4 frames"):
        aligned(log_y, TEXT, TEXT.encode("ababa"), "ababa")
