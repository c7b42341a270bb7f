"""Choice of outputs beyond a single search: ensembles, reverse models and minimum Bayes risk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch

from dragoman.config.search import SearchConfig
from dragoman.data.collate import collate
from dragoman.errors import ModelError
from dragoman.metrics.sentence_distance import DISTANCES, Distance
from dragoman.models.bundle import Bundle
from dragoman.models.language_model import LanguageModel
from dragoman.protocols import Stepper
from dragoman.search.build import build_average
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.shallow_fusion import ShallowFusion
from dragoman.text.tokenizer import Tokenizer

MAX_REFERENCES = 64  # samples that each one is compared with: the first ones drawn


class Reranker:
    def __init__(
        self, bundles: Sequence[Bundle], reverse: Bundle | None = None, lm: Bundle | None = None
    ) -> None:
        for other in bundles[1:]:
            refuse_other_vocabulary(bundles[0], other)
        if lm:
            refuse_other_language(bundles[0], lm)
        self.lm = lm.stepper if lm else None
        self.others = [bundle.seq2seq for bundle in bundles[1:]]
        self.text = bundles[0].text.tgt
        self.reverse = ReverseModel(reverse) if reverse else None

    @property
    def is_mixed(self) -> bool:
        """Whether the scores of the search are not those of one model."""
        return bool(self.others or self.lm)

    def stepper(self, model: Stepper, config: SearchConfig) -> Stepper:
        """Return the model, or the ensemble of all models, fused with the language model if there is one."""
        if self.others:
            model = Ensemble([model, *self.others], build_average(config))
        return ShallowFusion(model, self.lm, config.lm_weight) if self.lm else model

    def ranked(self, config: SearchConfig, source: str, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the n best hypotheses of a search, in their final order."""
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
                f"The models of an ensemble must share one vocabulary, but their {side} sides differ.",
                where=f"{mine.size:,} and {theirs.size:,} entries",
                expected="models trained on the same text, with different seeds or architectures",
                hint="Train them on the same data and [text] settings, with different training.seed.",
            )


def refuse_other_language(one: Bundle, lm: Bundle) -> None:
    """Raise ModelError if the language model does not predict the tokens of the target."""
    if not isinstance(lm.model, LanguageModel) or pieces(one.text.tgt) != pieces(lm.text.tgt):
        raise ModelError(
            "Shallow fusion needs a language model with the target vocabulary of the model.",
            where=f"{one.text.tgt.size:,} and {lm.text.tgt.size:,} entries",
            expected='task = "lm", trained on the target side of the same data with the same [text]',
            hint="dragoman train train.src train.tgt -o LM task=lm",
        )


def pieces(text: Tokenizer) -> list[str]:
    return [text.kind, *(text.piece(id) for id in range(text.size))]


def minimum_bayes_risk(
    samples: Sequence[Hypothesis], text: Tokenizer, distance: Distance
) -> list[Hypothesis]:
    """Sort the distinct samples by expected utility: score = 1/n Σ_j (1 − Δ(y, y_j)), 1 if all agree.

    Minimum Bayes risk (Kumar & Byrne 2004): the samples represent the model's distribution (Eikema & Aziz
    2020), so what they agree on wins over the most probable output. Each is compared with the first few only,
    which estimate its risk as well as all would (Eikema & Aziz 2022).
    """
    texts = [text.decode(sample.tokens) for sample in samples]
    first = dict(zip(reversed(texts), reversed(samples), strict=True))
    others = Counter(texts[:MAX_REFERENCES])
    risk = {
        y: sum(count * distance(y, other) for other, count in others.items()) / others.total()
        for y in dict.fromkeys(texts)
    }
    return [first[y]._replace(score=1.0 - risk[y]) for y in sorted(risk, key=risk.__getitem__)]


class ReverseModel:
    """p(x | y), by a model trained in the opposite direction (Li & Jurafsky 2016)."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    @torch.no_grad()
    def mean_log_p(self, source: str, outputs: Sequence[str]) -> list[float]:
        """Return 1/|x| log p(x | y) of each output y."""
        text, model = self.bundle.text, self.bundle.seq2seq
        x = text.tgt.encode(source)[: self.bundle.longest_target - 1]
        ys = [y[: self.bundle.longest_source] for y in text.src.encode_batch(outputs)]
        batch = collate([(y, x) for y in ys])
        log_p = model.log_p(batch).gather(2, batch.tgt_out.unsqueeze(2)).squeeze(2)
        return [float(mean) for mean in log_p.mean(dim=1)]


def rerank_by_reverse(
    hypotheses: Sequence[Hypothesis], reverse: Sequence[float], weight: float
) -> list[Hypothesis]:
    """Sort by (1 − λ) · score + λ · 1/|x| log p(x | y), best first."""
    scored = [
        h._replace(score=(1 - weight) * h.score + weight * back)
        for h, back in zip(hypotheses, reverse, strict=True)
    ]
    return sorted(scored, key=lambda h: -h.score)
