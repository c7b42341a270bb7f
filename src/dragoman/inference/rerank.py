"""Re-ranking by a reverse model: a good translation lets the source be guessed (Li & Jurafsky 2016)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dragoman.data.collate import collate
from dragoman.models.bundle import Bundle
from dragoman.search.hypothesis import Hypothesis


class Reverse:
    """p(x | y), by a model that was trained the other way round."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    @torch.no_grad()
    def mean_log_p(self, source: str, outputs: Sequence[str]) -> list[float]:
        """1/|x| log p(x | y) of each output y."""
        text, model = self.bundle.text, self.bundle.model
        x = text.tgt.encode(source)[: self.bundle.longest_target - 1]
        ys = [y[: self.bundle.longest_source] for y in text.src.encode_batch(outputs)]
        batch = collate([(y, x) for y in ys])
        h = model.decoder(model.encoder(batch.src, batch.src_keep), batch.tgt_in, batch.tgt_keep)
        log_p = model.head(h.flatten(0, 1)).gather(1, batch.tgt_out.view(-1, 1))
        return [float(mean) for mean in log_p.view(len(ys), -1).mean(dim=1)]


def reranked(hypotheses: Sequence[Hypothesis], reverse: Sequence[float], weight: float) -> list[Hypothesis]:
    """Best first by (1 − λ) · score + λ · 1/|x| log p(x | y)."""
    scored = [
        h._replace(score=(1 - weight) * h.score + weight * back)
        for h, back in zip(hypotheses, reverse, strict=True)
    ]
    return sorted(scored, key=lambda h: -h.score)
