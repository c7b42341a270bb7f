"""The steps of an output: the probability of each token, the entropy, and the most likely tokens."""

from __future__ import annotations

from collections.abc import Callable

import torch

from dragoman.inspection.data import Choice, OutputStep
from dragoman.shapes import Float, Int, Tensor

SHOWN = 5


def output_steps(
    log_p: Float[Tensor, "T V"], y: Int[Tensor, " T"], piece: Callable[[int], str], top: int = SHOWN
) -> tuple[OutputStep, ...]:
    p = log_p.exp()
    entropy = torch.special.entr(p).sum(dim=1).tolist()
    written = p.gather(1, y.unsqueeze(1)).squeeze(1).tolist()
    best = p.topk(min(top, p.shape[1]), dim=1)
    rows = zip(y.tolist(), written, entropy, best.indices.tolist(), best.values.tolist(), strict=True)
    return tuple(
        OutputStep(piece(token), mine, h, tuple(map(Choice, map(piece, ids), values)))
        for token, mine, h, ids, values in rows
    )
