"""Processors over arrays, as those for torch: forced prefix, minimum length, no repeated n-grams, no <unk>.

All but the first leave a row unchanged if it would have no token left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.search.numpy.search import Floats, Ints, Processor
from dragoman.text.specials import EOS, UNK


def force_prefix(prefixes: Sequence[Sequence[int]]) -> Processor:
    """Return a processor that makes outputs begin with these prefixes, one per sentence."""

    def rule(sentences: Ints, tokens: Ints, log_p: Floats) -> None:
        t = tokens.shape[2] - 1
        for place, sentence in enumerate(sentences.tolist()):
            if t < len(prefixes[sentence]):
                token = prefixes[sentence][t]
                kept = log_p[place, :, token].copy()
                log_p[place] = -np.inf
                log_p[place, :, token] = kept

    return rule


def min_length(n: int) -> Processor:
    """Return a processor that forbids </s> before n tokens."""

    def rule(sentences: Ints, tokens: Ints, log_p: Floats) -> None:
        B, W, T = tokens.shape
        if n >= T:  # T counts <s>
            rows = np.arange(B * W)
            forbid(log_p.reshape(B * W, -1), rows, np.full_like(rows, EOS))

    return rule


def no_unk(sentences: Ints, tokens: Ints, log_p: Floats) -> None:
    """Forbid <unk>."""
    flat = log_p.reshape(-1, log_p.shape[-1])
    rows = np.arange(len(flat))
    forbid(flat, rows, np.full_like(rows, UNK))


def no_repeat_ngram(n: int) -> Processor:
    """Return a processor that forbids repeated n-grams (Paulus et al. 2018)."""

    def rule(sentences: Ints, tokens: Ints, log_p: Floats) -> None:
        B, W, T = tokens.shape
        if n > T:
            return
        flat = tokens.reshape(B * W, T)
        runs = np.lib.stride_tricks.sliding_window_view(flat, n, axis=1)
        is_same = (runs[:, :, :-1] == flat[:, None, T - n + 1 :]).all(axis=-1)
        row, place = np.nonzero(is_same)
        forbid(log_p.reshape(B * W, -1), row, runs[row, place, -1])

    return rule


def forbid(log_p: Floats, rows: Ints, tokens: Ints) -> None:
    """Set these tokens of these rows to −∞, in place, except in rows that would have no token left."""
    before = log_p[rows, tokens]
    log_p[rows, tokens] = -np.inf
    is_stuck = log_p[rows].max(axis=1, initial=-np.inf) == -np.inf
    log_p[rows[is_stuck], tokens[is_stuck]] = before[is_stuck]
