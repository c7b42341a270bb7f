"""Word tokenizer: words are separated by single spaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dragoman.text.specials import textual
from dragoman.text.tokenizers.vocabulary_tokenizer import VocabularyTokenizer
from dragoman.text.vocabulary import Vocabulary


class Word(VocabularyTokenizer):
    kind = "word"

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Word:
        counts = Counter(word for line in lines for word in line.split(" "))
        # The empty word is between two consecutive spaces; with it, joining is exact.
        return cls(Vocabulary.most_frequent(counts, size, always=[""]))

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary.id(word) for word in text.split(" ")] if text else []

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.vocabulary.text(id) for id in textual(ids, self.size))
