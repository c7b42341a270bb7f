"""Words of running text: runs without spaces and punctuation, and characters of scripts without spaces."""

from __future__ import annotations

import pytest

from dragoman.text.running_words import running_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ein Mann, 1,000 m hoch.", ["ein", "mann", "1", "000", "m", "hoch"]),
        ("« l’homme » — où ?", ["l", "homme", "où"]),
        ("T-Shirt_2", ["t", "shirt", "2"]),
        ("हिन्दी में।", ["हिन्दी", "में"]),  # vowel signs are no letters for \w
        ("日本の車、ok", ["日", "本", "の", "車", "ok"]),
        ("2·5 °C ½ ª", ["2", "5", "c", "ª"]),
        ("", []),
        (" … ", []),
    ],
)
def test_words_of_any_script(text: str, words: list[str]) -> None:
    assert running_words(text) == words
