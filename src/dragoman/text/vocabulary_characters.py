"""Character ids of the entries of a vocabulary, for models that read words as characters."""

from __future__ import annotations

from dragoman.text.specials import SPECIALS
from dragoman.text.tokenizer import Tokenizer

BEGIN, END = 1, 2  # 0 is padding after the end of a word
MAX_WORD_CHARACTERS = 48  # characters of a word that are used


def characters_of_entries(tokenizer: Tokenizer) -> list[list[int]]:
    """Return each entry as BEGIN c₁ … c_n END; a special entry has a character id of its own.

    The ids depend only on the vocabulary, so a model folder need not store them.
    """
    entries = [tokenizer.piece(id) for id in range(tokenizer.size)]
    symbols = range(END + 1, END + 1 + len(SPECIALS))
    words = [entry[:MAX_WORD_CHARACTERS] for entry in entries[len(SPECIALS) :]]
    number = {character: id for id, character in enumerate(sorted(set("".join(words))), start=symbols.stop)}
    return [
        *([BEGIN, symbol, END] for symbol in symbols),
        *([BEGIN, *(number[character] for character in word), END] for word in words),
    ]
