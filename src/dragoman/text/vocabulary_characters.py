"""How the entries of a vocabulary are spelt, in numbers: for models that read words by their characters."""

from __future__ import annotations

from dragoman.text.specials import SPECIALS
from dragoman.text.tokenizer import Tokenizer

BEGIN, END = 1, 2  # 0 is no character: what stands behind the end of a word
MAX_WORD_CHARACTERS = 48  # characters of a word that are read


def characters_of_entries(tokenizer: Tokenizer) -> list[list[int]]:
    """Each entry as begin c₁ … c_n end; a special entry has a character of its own.

    The numbers follow from the vocabulary alone, so a model folder need not hold them.
    """
    entries = [tokenizer.piece(id) for id in range(tokenizer.size)]
    symbols = range(END + 1, END + 1 + len(SPECIALS))
    words = [entry[:MAX_WORD_CHARACTERS] for entry in entries[len(SPECIALS) :]]
    number = {character: id for id, character in enumerate(sorted(set("".join(words))), start=symbols.stop)}
    return [
        *([BEGIN, symbol, END] for symbol in symbols),
        *([BEGIN, *(number[character] for character in word), END] for word in words),
    ]
