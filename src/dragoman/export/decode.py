"""Ids in, hypotheses out, by CTranslate2: the same rules as our own search, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from dragoman.config.search import SearchConfig
from dragoman.export.vocabulary import names
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.pair import TextPair
from dragoman.text.specials import EOS

SCORED = 32  # pairs at once: each token of them takes memory for the whole vocabulary

Ids = Sequence[int]


class Decoder:
    """A CTranslate2 directory. `threads` 0 leaves their number to CTranslate2."""

    def __init__(self, folder: Path, text: TextPair, *, threads: int = 0) -> None:
        self.translator = ctranslate2.Translator(
            str(folder), device="cpu", inter_threads=1, intra_threads=threads
        )
        self._sources, self._targets = names(text.src), names(text.tgt)
        self._ids = {name: id for id, name in enumerate(self._targets)}

    def __call__(self, sources: Sequence[Ids], search: SearchConfig) -> list[Hypothesis]:
        """The best hypothesis of each source.

        A bare call of CTranslate2 cuts inputs at 1024 tokens and never gives an empty output; we may.
        """
        found = self.translator.translate_batch(
            [[self._sources[id] for id in row] for row in sources],
            beam_size=1 if search.kind == "greedy" else search.size,
            length_penalty=search.length_penalty,
            min_decoding_length=0,
            max_decoding_length=search.max_length,
            max_input_length=0,
            max_batch_size=search.batch_sentences,
            return_end_token=True,  # where it is missing the output was cut
            return_scores=True,
        )
        return [self._hypothesis(one.hypotheses[0], one.scores[0], search.length_penalty) for one in found]

    def forced(self, sources: Sequence[Ids], targets: Sequence[Ids]) -> list[list[float]]:
        """log p of each token of the given outputs, and of the </s> behind them."""
        scored = self.translator.score_batch(
            [[self._sources[id] for id in row] for row in sources],
            [[self._targets[id] for id in row] for row in targets],
            max_input_length=0,
            max_batch_size=SCORED,
        )
        return [list(one.log_probs) for one in scored]

    def _hypothesis(self, tokens: Sequence[str], score: float, alpha: float) -> Hypothesis:
        ids = tuple(self._ids[token] for token in tokens)
        is_whole = ids[-1:] == (EOS,)
        log_p = score * float(len(ids) ** alpha)
        return Hypothesis(ids[:-1] if is_whole else ids, score, log_p, is_whole)
