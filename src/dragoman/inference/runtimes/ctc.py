"""Transcription with PyTorch: log y of every frame by the network, and a search on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.config.search import SearchConfig
from dragoman.data.collate import IdPair, collate, collate_sources
from dragoman.errors import UsageError
from dragoman.inference.reranking import refuse_other_language
from dragoman.inference.runtimes.torch import invariant_batches, pad_batch
from dragoman.inference.transcription import (
    EMPTY,
    Character,
    CTCSearch,
    Transcription,
    aligned,
    transcription,
)
from dragoman.models.bundle import Bundle
from dragoman.models.ctc import CTC, JointCTC
from dragoman.protocols import send
from dragoman.search.batch_invariance import padded_length
from dragoman.search.ctc.prefix_beam import Fusion, Scorer
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.prefix_scorer import PrefixScorer

Row = NDArray[Any]  # ids, or frames (S, F)
Read = Callable[[Sequence[str]], Sequence[Row]]  # inputs to what the network reads


class CTCRuntime:
    """A model that transcribes. An answer does not depend on the other inputs of a call."""

    def __init__(self, bundle: Bundle, read: Read) -> None:
        assert isinstance(bundle.model, CTC | JointCTC)
        self.bundle, self.model = bundle, bundle.model
        self.device = next(bundle.model.parameters()).device
        self.text = bundle.text
        self.search = bundle.config.search
        self.read = read
        self.scorer: Scorer | None = None

    def fuse(self, lm: Bundle) -> None:
        """Fuse a language model into prefix beam search, with search.lm_weight."""
        refuse_other_language(self.bundle, lm)
        lm.model.to(self.device)
        self.scorer = PrefixScorer(lm.stepper, self.device)

    def __call__(
        self,
        inputs: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        forbid: Sequence[str] = (),
    ) -> list[Transcription]:
        """Return one transcription per input, in order; that of an empty input is empty.

        Every transcription has its characters, with or without `details`.
        """
        if forbid:
            raise UsageError(
                "Words cannot be forbidden in a transcription.", where="--forbid", hint="Leave it out."
            )
        config = search or self.search
        ctc_search, found = build_search(config, self.scorer), [EMPTY for _ in inputs]
        for index, row, log_y in self._frames(inputs, config.batch_sentences):
            hypotheses = ctc_search(log_y)
            if isinstance(self.model, JointCTC):
                hypotheses = self._reranked(self.model, row, hypotheses)
            found[index] = transcription(log_y, self.text.tgt, hypotheses[: config.n_best])
        return found

    def align(self, inputs: Sequence[str], texts: Sequence[str]) -> list[list[Character]]:
        """Return where the characters of a given text are in each input (forced alignment)."""
        found: list[list[Character]] = [[] for _ in inputs]
        for index, _, log_y in self._frames(inputs, self.search.batch_sentences):
            tokens = self.text.tgt.encode(texts[index])
            found[index] = aligned(log_y, self.text.tgt, tokens, texts[index])
        return found

    def _frames(self, inputs: Sequence[str], size: int) -> Iterator[tuple[int, Row, NDArray[np.float32]]]:
        """Yield the index, the row and log y [S V] of each input that is not empty."""
        rows = self.read(inputs)
        lengths = [len(row) for row in rows]
        for indices in invariant_batches(lengths, size):
            some = pad_batch([rows[index] for index in indices])
            src, keep = collate_sources(some, padded_length(lengths[indices[0]]))
            with torch.no_grad():
                log_y, keep = self.model.frames(send(src, self.device), send(keep, self.device))
            for index, y, mask in zip(indices, log_y.cpu().numpy(), keep.cpu().numpy(), strict=False):
                yield index, rows[index], y[mask]

    @torch.no_grad()
    def _reranked(self, model: JointCTC, row: Row, found: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses by λ log p_ctc + (1 − λ) log p_att (Watanabe et al. 2017, eq. 13)."""
        pairs: list[IdPair] = [(row, h.tokens) for h in found]
        log_p = model.log_p_attention(collate(pad_batch(pairs)).to(self.device)).tolist()
        weight = model.ctc_weight
        scored = [
            h._replace(score=weight * h.score + (1.0 - weight) * p)
            for h, p in zip(found, log_p, strict=False)
        ]
        return sorted(scored, key=lambda h: -h.score)


def build_search(config: SearchConfig, scorer: Scorer | None = None) -> CTCSearch:
    """Return the best path for kind "greedy", or a prefix beam search."""
    if config.kind not in ("greedy", "beam"):
        raise UsageError(
            f"A transcription is not found by {config.kind}.",
            where=f'search.kind = "{config.kind}"',
            expected="greedy or beam",
            hint="search.kind=beam",
        )
    fusion = Fusion(scorer, config.lm_weight) if scorer else None
    return CTCSearch(config.size if config.kind == "beam" else 0, fusion)
