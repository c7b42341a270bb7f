"""TokenizerPair: the tokenizers of the source and the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.text.tokenizer import Ids, Tokenizer


@dataclass(frozen=True)
class TokenizerPair:
    src: Tokenizer
    tgt: Tokenizer
    joint: bool  # one shared vocabulary: `src` and `tgt` are the same object
    lowercase: bool = False
    sampling: float = 0.0

    def read(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each source; none for a blank text."""
        return self.src.encode_batch([text if text.strip() else "" for text in texts])
