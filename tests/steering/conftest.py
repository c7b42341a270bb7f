"""The tokenizers that these tests share."""

from __future__ import annotations

from support.tokenizers import lines, reversible, subword, tokenizer, tokenizers

__all__ = ["lines", "reversible", "subword", "tokenizer", "tokenizers"]
