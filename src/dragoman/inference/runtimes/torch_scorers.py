"""Scores of given tokens by PyTorch: those of a language model, and of the decoder of a joint CTC model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.data.collate import IdPair, collate
from dragoman.data.padding import SourceRow
from dragoman.models.ctc import JointCTC
from dragoman.models.language_model import LanguageModel
from dragoman.protocols import send
from dragoman.search.batch_invariance import pad_batch
from dragoman.search.hypothesis import Hypothesis

Ints = NDArray[np.int64]


class TorchTokenLogP:
    """log p(y_t | y_<t) of a language model on its device."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.device = next(model.parameters()).device

    @torch.no_grad()
    def __call__(self, before: Ints, y: Ints) -> NDArray[np.float32]:
        given, chosen = (send(torch.from_numpy(x), self.device) for x in (before, y))
        log_p: NDArray[np.float32] = self.model.token_log_p(given, chosen).cpu().numpy()
        return log_p


class TorchAttentionScorer:
    """log p_att of the hypotheses of a row, by the decoder of a joint model on its device."""

    def __init__(self, model: JointCTC) -> None:
        self.model = model
        self.device = next(model.parameters()).device

    @torch.no_grad()
    def __call__(self, row: SourceRow, found: Sequence[Hypothesis]) -> list[float]:
        pairs: list[IdPair] = [(row, h.tokens) for h in found]
        log_p: list[float] = self.model.log_p_attention(collate(pad_batch(pairs)).to(self.device)).tolist()
        return log_p[: len(found)]
