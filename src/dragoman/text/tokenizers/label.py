"""Label tokenizer: a whole line is one entry, the name of a class. An unknown class is an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dragoman.errors import DataError
from dragoman.spelling import closest, did_you_mean
from dragoman.text.specials import SPECIALS, UNK, textual
from dragoman.text.tokenizers.vocabulary_tokenizer import VocabularyTokenizer
from dragoman.text.vocabulary import Vocabulary


class Label(VocabularyTokenizer):
    kind = "label"

    @classmethod
    def learn(cls, lines: Iterable[str], size: int) -> Label:
        counts = Counter(line for line in lines if line)
        if len(counts) > size - len(SPECIALS):
            raise DataError(
                f"There are {len(counts):,} labels, too many for a vocabulary of {size:,}.",
                expected="one label per line, most of them often",
                hint="Check that the target side holds labels, not texts, or set text.tgt.size.",
            )
        return cls(Vocabulary.most_frequent(counts, size))

    def encode(self, text: str) -> list[int]:
        """Return the id of the label, or none for an empty line; raise DataError for an unknown label."""
        if not text:
            return []
        id = self.vocabulary.id(text)
        if id == UNK:
            known = self.vocabulary.entries[len(SPECIALS) :]
            raise DataError(
                f'The label "{text[:60]}" does not occur in the training data.'
                + did_you_mean(closest(text, known)),
                expected=f"one of its {len(known)} labels: {', '.join(known[:5])}{' …' if known[5:] else ''}",
                hint="Add examples of this label to the training data, or remove these lines. With --from, a "
                "model keeps its labels.",
            )
        return [id]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.vocabulary.text(id) for id in textual(ids, self.size))
