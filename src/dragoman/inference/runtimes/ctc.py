"""Transcription: log y of every frame by a network, and a search over them, without torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchConfig
from dragoman.data.padding import SourceRow, pad_sources
from dragoman.errors import UsageError
from dragoman.inference.array_network import ArrayNetwork
from dragoman.inference.runtimes.runtime import ReadSources, parts
from dragoman.inference.transcription import (
    EMPTY,
    Character,
    CTCSearch,
    Transcription,
    aligned,
    transcription,
)
from dragoman.search.batch_invariance import invariant_batches, pad_batch, padded_length
from dragoman.search.ctc.prefix_beam import Fusion, Scorer
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.tokenizer_pair import TokenizerPair

# log p_att of each hypothesis of a row, by the decoder of a joint model
AttentionScorer = Callable[[SourceRow, Sequence[Hypothesis]], Sequence[float]]


class CTCRuntime:
    """A model that transcribes. An answer does not depend on the other inputs of a call.

    `scorer` is a language model that is fused into prefix beam search, with search.lm_weight; `attention` is
    the decoder of a joint model, which re-ranks with the weight 1 − `ctc_weight`. Sources are cut to
    `longest` tokens or frames, the positions of the model.
    """

    def __init__(
        self,
        network: ArrayNetwork,
        text: TokenizerPair,
        search: SearchConfig,
        read: ReadSources,
        longest: int,
        *,
        scorer: Scorer | None = None,
        attention: AttentionScorer | None = None,
        ctc_weight: float = 1.0,
    ) -> None:
        self.network = network
        self.text = text
        self.search = search
        self.read = read
        self.longest = longest
        self.scorer = scorer
        self.attention = attention
        self.ctc_weight = ctc_weight

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
        return [one for part in parts(inputs) for one in self.transcribe(self.rows(part), config)]

    def rows(self, inputs: Sequence[str]) -> list[NDArray[Any]]:
        return [row[: self.longest] for row in self.read(inputs)]

    def transcribe(self, rows: Sequence[SourceRow], config: SearchConfig) -> list[Transcription]:
        ctc_search, found = build_search(config, self.scorer), [EMPTY for _ in rows]
        for index, log_y in self.frames(rows, config.batch_sentences):
            hypotheses = ctc_search(log_y)
            if self.attention:
                hypotheses = joint_ranking(
                    hypotheses, self.attention(rows[index], hypotheses), self.ctc_weight
                )
            found[index] = transcription(log_y, self.text.tgt, hypotheses[: config.n_best])
        return found

    def align(self, inputs: Sequence[str], texts: Sequence[str]) -> list[list[Character]]:
        """Return where the characters of a given text are in each input (forced alignment)."""
        found: list[list[Character]] = []
        for part in parts(inputs):
            first = len(found)
            found += [[] for _ in part]
            for index, log_y in self.frames(self.rows(part), self.search.batch_sentences):
                text = texts[first + index]
                found[first + index] = aligned(log_y, self.text.tgt, self.text.tgt.encode(text), text)
        return found

    def frames(self, rows: Sequence[SourceRow], size: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the index and log y [S V] of each row that is not empty."""
        lengths = [len(row) for row in rows]
        for indices in invariant_batches(lengths, size):
            some = pad_batch([rows[index] for index in indices])
            length = min(padded_length(lengths[indices[0]]), self.longest + 1)
            outputs = self.network(*pad_sources(some, length))
            for index, y, real in zip(indices, outputs["log_y"], outputs["frames"], strict=False):
                yield index, y[real]


def joint_ranking(found: Sequence[Hypothesis], log_p: Sequence[float], ctc_weight: float) -> list[Hypothesis]:
    """Return the hypotheses by λ log p_ctc + (1 − λ) log p_att (Watanabe et al. 2017, eq. 13)."""
    scored = [
        h._replace(score=ctc_weight * h.score + (1.0 - ctc_weight) * p)
        for h, p in zip(found, log_p, strict=True)
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
