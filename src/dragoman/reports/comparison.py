"""A comparison of models on one test set, as plain data that shows itself like a report."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.inspection.data import LearningCurves
from dragoman.inspection.pictures.files import data_format, write_as
from dragoman.reports.comparison_page import comparison_page, contrast_table
from dragoman.reports.data import EvaluationSet, Interval, RunCard, Score
from dragoman.reports.text import comparison_text


@dataclass(frozen=True)
class System:
    """A model that is compared; `name` is that of its folder."""

    name: str
    scores: tuple[Score, ...]
    run: RunCard


@dataclass(frozen=True)
class Contrast:
    """How a system differs from the first in a metric, by a paired bootstrap; `interval` of the main one."""

    system: str
    metric: str
    title: str
    difference: float
    p_value: float
    is_better: bool | None  # None if the difference could be chance
    interval: Interval | None = None


@dataclass(frozen=True)
class ComparedSentence:
    """A sentence with an output and a score of each system."""

    line: int
    source: str
    reference: str
    outputs: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def spread(self) -> float:
        return max(self.scores) - min(self.scores)


@dataclass(frozen=True)
class Comparison:
    """`sentences` are those with different outputs, the largest difference of their scores first;
    `settings` those that differ, with a value for each system."""

    verdict: str
    test: EvaluationSet
    systems: tuple[System, ...]
    contrasts: tuple[Contrast, ...]
    sentence_score: str
    sentences: tuple[ComparedSentence, ...]
    settings: dict[str, tuple[str, ...]]
    curves: LearningCurves  # of the validation, a line for each system

    @property
    def main_metric(self) -> str:
        """The title of the metric of the verdict."""
        return next(one.title for one in self.contrasts if one.interval)

    def html(self) -> str:
        """Return a page that needs no network and runs no script."""
        return comparison_page(self)

    def asdict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def save(self, path: str | Path) -> None:
        """Write the page as .html, or the data as .json."""
        write_as(Path(path), "report", {".html": self.html, **data_format(self.asdict)})

    def __str__(self) -> str:
        return comparison_text(self)

    def __repr__(self) -> str:
        return f"Comparison({self.verdict})"

    def _repr_html_(self) -> str:
        return contrast_table(self)
