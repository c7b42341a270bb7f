"""A report: what a model is worth on a test set, where it loses and what it was trained on, as plain data.

It shows itself: as a page, as text in a terminal, in a notebook, or as JSON.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.analysis.error_analysis import ErrorAnalysis
from dragoman.inspection.data import LearningCurves
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.files import data_format, write_as
from dragoman.reports.data import EvaluationSet, Example, Gain, RunCard, Score
from dragoman.reports.report_page import report_page, summary
from dragoman.reports.text import report_text


@dataclass(frozen=True)
class Explained:
    """A sentence whose answer was looked into, and why it was chosen."""

    why: str
    line: int
    explanation: Explanation


@dataclass(frozen=True)
class Report:
    """`sentences` are all, the worst first; `drawn` are the places of some random ones in them.

    What there is no record of, or a task does not have, is empty or None.
    """

    name: str
    verdict: str
    test: EvaluationSet
    scores: tuple[Score, ...]
    gains: tuple[Gain, ...]
    sentence_score: str  # what the score of a sentence is
    sentences: tuple[Example, ...]
    drawn: tuple[int, ...]
    errors: ErrorAnalysis | None
    curves: LearningCurves | None
    explained: tuple[Explained, ...]
    run: RunCard
    notes: tuple[str, ...] = ()  # what was left out, and why

    def html(self) -> str:
        """Return a page that needs no network and runs no script."""
        return report_page(self)

    def asdict(self) -> dict[str, Any]:
        errors = None if self.errors is None else self.errors.asdict(0)
        facts = dataclasses.asdict(dataclasses.replace(self, errors=None))
        return facts | {"errors": errors}

    def save(self, path: str | Path) -> None:
        """Write the page as .html, or the data as .json."""
        write_as(Path(path), "report", {".html": self.html, **data_format(self.asdict)})

    def __str__(self) -> str:
        return report_text(self)

    def __repr__(self) -> str:
        return f"Report({self.name!r}: {self.verdict})"

    def _repr_html_(self) -> str:
        return summary(self)
