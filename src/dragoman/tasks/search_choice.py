"""Which beam a model that translates searches with: that of its engine, or the careful one.

The engine's beam stops as soon as enough hypotheses have ended. Where tokens are few and the model is unsure,
as with letters or after little training, these are fragments, and the outputs are worse than those of greedy
search. The careful search (search.stop = "heuristic") takes twice as long, so a model gets it only if its
metric says that the beam is worse on validation pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.metrics.names import ALL_TITLES
from dragoman.metrics.validation import LOWER_IS_BETTER, Metric
from dragoman.tasks.build import build_task

MOST_PAIRS = 500  # that the searches are compared on
CAREFUL = {"stop": "heuristic"}


class SearchChoice(NamedTuple):
    """The scores of greedy search and of the engine's beam on the same pairs."""

    pairs: int
    metric: Metric
    greedy: float
    beam: float

    @property
    def is_careful(self) -> bool:
        return self.beam > self.greedy if self.metric in LOWER_IS_BETTER else self.beam < self.greedy

    @property
    def sentence(self) -> str:
        scores = f"{self.greedy:.1f} {ALL_TITLES[self.metric]} and the beam {self.beam:.1f}"
        chosen = "so the beam is a careful one" if self.is_careful else "so the engine's own beam will do"
        return f"on {self.pairs:,} validation pairs greedy search scores {scores}, {chosen}"


def is_open(config: Config) -> bool:
    """Return whether the settings leave it to the scores which beam is used."""
    search = config.search
    is_beam = search.kind == "beam" and search.size > 1
    return config.task == "translate" and is_beam and search.stop == "n_best"


def greedy_of(search: SearchConfig) -> SearchConfig:
    return search.model_copy(update={"kind": "greedy", "n_best": 1})


def careful(config: Config) -> Config:
    return config.model_copy(update={"search": config.search.model_copy(update=CAREFUL)})


def choose(
    config: Config, references: Sequence[str], greedy: Sequence[str], beam: Sequence[str]
) -> SearchChoice:
    """Compare the outputs of both searches by the metric that selects checkpoints, or by chrF if that is
    the loss."""
    task = build_task(config)
    scores: tuple[dict[str, Any], ...] = tuple(
        dict(task.measure(outputs, references)) for outputs in (greedy, beam)
    )
    wanted = config.training.valid_metric
    metric: Metric = wanted if wanted != "loss" and wanted in scores[0] else "chrf"
    return SearchChoice(len(references), metric, *(score[metric] for score in scores))
