"""What chooses beside the search itself: other models of an ensemble, a reverse model, a metric."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.search import SearchConfig
from dragoman.errors import ModelError
from dragoman.inference.mbr import least_risk
from dragoman.inference.rerank import Reverse, reranked
from dragoman.metrics.sentence import DISTANCES
from dragoman.models.bundle import Bundle
from dragoman.protocols import Stepper
from dragoman.search.build import build_average
from dragoman.search.ensemble import Ensemble
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.tokenizer import Tokenizer


class Chooser:
    def __init__(self, bundles: Sequence[Bundle], reverse: Bundle | None = None) -> None:
        for other in bundles[1:]:
            refuse_other_vocabulary(bundles[0], other)
        self.others = [bundle.model for bundle in bundles[1:]]
        self.text = bundles[0].text.tgt
        self.reverse = Reverse(reverse) if reverse else None

    def stepper(self, model: Stepper, config: SearchConfig) -> Stepper:
        """The model, or all of them as one."""
        return Ensemble([model, *self.others], build_average(config)) if self.others else model

    def ranked(self, config: SearchConfig, source: str, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """What a search found, in the order in which it is told, as many as are asked for."""
        found = list(hypotheses)
        if config.kind == "mbr":
            found = least_risk(found, self.text, DISTANCES[config.utility]())
        if self.reverse:
            outputs = [self.text.decode(h.tokens) for h in found]
            found = reranked(found, self.reverse.mean_log_p(source, outputs), config.reverse_weight)
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
