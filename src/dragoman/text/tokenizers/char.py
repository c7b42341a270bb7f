"""Character tokenizer: every code point is an entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dragoman.text.specials import textual
from dragoman.text.tokenizers.vocabulary_tokenizer import VocabularyTokenizer
from dragoman.text.vocabulary import Vocabulary


class Char(VocabularyTokenizer):
    kind = "char"

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Char:
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(line)
        return cls(Vocabulary.most_frequent(counts, size))

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary.id(character) for character in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.vocabulary.text(id) for id in textual(ids, self.size))
