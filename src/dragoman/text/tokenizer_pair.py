"""TokenizerPair: the tokenizers of the source and the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.hashing import U64, hash64_each
from dragoman.text.tokenizer import Ids, Row, Tokenizer


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

    def resegment(self, pairs: Sequence[tuple[Row, Row]], keys: U64) -> list[tuple[Row, Row]]:
        """Return other ids for each pair, drawn from its key."""
        src, tgt = [src for src, _ in pairs], [tgt for _, tgt in pairs]
        src_keys, tgt_keys = (hash64_each(keys, np.uint64(side)) for side in range(2))
        if self.joint:  # one call with all rows is faster than two
            rows = self.src.resegment([*src, *tgt], np.concatenate([src_keys, tgt_keys]))
            return list(zip(rows[: len(src)], rows[len(src) :], strict=True))
        sides = self.src.resegment(src, src_keys), self.tgt.resegment(tgt, tgt_keys)
        return list(zip(*sides, strict=True))
