"""Labels: one per line, and no other than those of training."""

from pathlib import Path

import pytest

from dragoman.errors import DataError
from dragoman.text.tokenizers.label import Label


def test_a_line_is_one_entry_and_comes_back(tmp_path: Path) -> None:
    label = Label.learn(["card arrival", "top up", "card arrival", ""], 100)
    label.save(tmp_path, "tgt")
    again = Label.load(tmp_path, "tgt", Path.read_bytes)
    for text in ("card arrival", "top up"):
        (id,) = again.encode(text)
        assert again.decode([id]) == text
    assert again.size == 6
    assert again.encode("") == []


def test_an_unknown_label_is_an_error_in_words() -> None:
    label = Label.learn(["card arrival", "top up"], 100)
    with pytest.raises(DataError, match=r'"card arival" does not occur .* Did you mean "card arrival"\?'):
        label.encode("card arival")


def test_texts_are_not_labels() -> None:
    with pytest.raises(DataError, match="There are 50 labels, too many"):
        Label.learn([f"text {n}" for n in range(50)], 20)
