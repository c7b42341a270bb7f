"""What chooses beside the search itself: other models of an ensemble, a reverse model, a metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate
from dragoman.errors import ModelError
from dragoman.metrics.sentence_distance import DISTANCES, Distance
from dragoman.models.bundle import Bundle
from dragoman.protocols import Stepper
from dragoman.search.build import build_average
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.tokenizer import Tokenizer


class Reranker:
    def __init__(self, bundles: Sequence[Bundle], reverse: Bundle | None = None) -> None:
        for other in bundles[1:]:
            refuse_other_vocabulary(bundles[0], other)
        self.others = [bundle.model for bundle in bundles[1:]]
        self.text = bundles[0].text.tgt
        self.reverse = ReverseModel(reverse) if reverse else None

    def stepper(self, model: Stepper, config: SearchConfig) -> Stepper:
        """The model, or all of them as one."""
        return Ensemble([model, *self.others], build_average(config)) if self.others else model

    def ranked(self, config: SearchConfig, source: str, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """What a search found, in the order in which it is told, as many as are asked for."""
        found = list(hypotheses)
        if config.kind == "mbr":
            found = minimum_bayes_risk(found, self.text, DISTANCES[config.utility]())
        if self.reverse:
            outputs = [self.text.decode(h.tokens) for h in found]
            found = rerank_by_reverse(found, self.reverse.mean_log_p(source, outputs), config.reverse_weight)
        return found[: config.n_best]


def refuse_other_vocabulary(one: Bundle, other: Bundle) -> None:
    for side, mine, theirs in (
        ("source", one.text.src, other.text.src),
        ("target", one.text.tgt, other.text.tgt),
    ):
        if pieces(mine) != pieces(theirs):
            raise ModelError(
                f"The models of an ensemble need one vocabulary, and their {side} sides differ.",
                where=f"{mine.size:,} and {theirs.size:,} entries",
                expected="models trained on the same text, with other seeds or networks",
                hint="Train them on the same data and [text] settings, with different training.seed.",
            )


def pieces(text: Tokenizer) -> list[str]:
    return [text.kind, *(text.piece(id) for id in range(text.size))]


MAX_REFERENCES = 64  # samples that each is compared with: the first that were drawn


def minimum_bayes_risk(
    samples: Sequence[Hypothesis], text: Tokenizer, distance: Distance
) -> list[Hypothesis]:
    """Each sample once, by its expected utility: score = 1/n Σ_j (1 − Δ(y, y_j)), 1 where all agree."""
    texts = [text.decode(sample.tokens) for sample in samples]
    first = dict(zip(reversed(texts), reversed(samples), strict=True))
    others = Counter(texts[:MAX_REFERENCES])
    risk = {
        y: sum(count * distance(y, other) for other, count in others.items()) / others.total()
        for y in dict.fromkeys(texts)
    }
    return [first[y]._replace(score=1.0 - risk[y]) for y in sorted(risk, key=risk.__getitem__)]


class ReverseModel:
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


def rerank_by_reverse(
    hypotheses: Sequence[Hypothesis], reverse: Sequence[float], weight: float
) -> list[Hypothesis]:
    """Best first by (1 − λ) · score + λ · 1/|x| log p(x | y)."""
    scored = [
        h._replace(score=(1 - weight) * h.score + weight * back)
        for h, back in zip(hypotheses, reverse, strict=True)
    ]
    return sorted(scored, key=lambda h: -h.score)
