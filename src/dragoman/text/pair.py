"""TextPair: how the source is read and how the target is written."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TextPair:
    src: Tokenizer
    tgt: Tokenizer
    joint: bool  # one vocabulary for both: `src` and `tgt` are the same object
    lowercase: bool = False
    sampling: float = 0.0
