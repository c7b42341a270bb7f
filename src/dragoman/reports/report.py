"""What a report and a comparison say, as plain data: numbers, strings, and tuples and dictionaries of them.

Both show themselves: as a page, as text in a terminal, in a notebook, or as JSON.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from dragoman.analysis.error_analysis import ErrorAnalysis
from dragoman.analysis.reasons import Reason
from dragoman.errors import MissingExtra
from dragoman.inspection.data import LearningCurves
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.files import data_format, write_as
from dragoman.reports.pages import comparison_page, contrast_table, report_page, summary
from dragoman.reports.text import comparison_text, report_text

Interval = tuple[float, float]


@dataclass(frozen=True)
class EvaluationSet:
    """What a model was measured on: `kind` is "test set", "validation set" or "training data".

    `items` is what it has many of: "sentences", or "examples" where most are no sentences.
    """

    kind: str
    files: tuple[str, ...]  # none if the pairs were held out of the training data
    sentences: int
    items: str = "sentences"

    @property
    def described(self) -> str:
        items = self.items.removesuffix("s") if self.sentences == 1 else self.items
        return f"{self.sentences:,} {items} of the {self.kind}"


@dataclass(frozen=True)
class Score:
    """A metric of the model, and the values of outputs that need no model, by their name."""

    metric: str
    title: str
    value: float
    interval: Interval  # 95 %
    unit: str  # "%" or nothing
    is_error: bool  # better when lower
    signature: str = ""
    baselines: dict[str, float] = field(default_factory=dict)
    counted: str = ""  # what it is a percentage of: "examples", "tags", "characters", "words"

    @property
    def has_interval(self) -> bool:
        """Whether the interval says anything: resampling sentences that are all right, or all wrong, shows
        no other value."""
        return self.interval[0] < self.interval[1]


@dataclass(frozen=True)
class Gain:
    """How much better the model is than a baseline: positive is better, also for an error rate."""

    metric: str
    title: str
    baseline: str
    difference: float
    interval: Interval


@dataclass(frozen=True)
class Editing:
    """What a translator would do with the outputs, by how much of each is in its reference: numbers of
    sentences. An estimate, because a good translation in other words counts as one to retype."""

    leave: int
    edit: int
    retype: int


@dataclass(frozen=True)
class Example:
    """A sentence and how well it is answered, from 0 to 100; the worst have reasons."""

    line: int
    score: float
    source: str
    reference: str
    output: str
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class CorpusCard:
    """A corpus of the training data; numbers are 0 if the run kept no record of them."""

    files: tuple[str, ...]
    sha256: tuple[str, ...] = ()
    weight: float = 1.0
    languages: str = ""
    licence: str = ""
    read: int = 0  # pairs
    kept: int = 0
    left_out: dict[str, int] = field(default_factory=dict)  # by reason
    src_tokens: int = 0
    tgt_tokens: int = 0


@dataclass(frozen=True)
class RunCard:
    """What was trained on what, and how to do so again.

    `command` gives the same bits if `is_exact`; `settings` are those that differ from the defaults.
    """

    task: str
    model: str
    corpora: tuple[CorpusCard, ...]
    validation: str
    command: str
    is_exact: bool
    seed: int
    versions: dict[str, str]
    settings: dict[str, str]
    parameters: int = 0
    updates: int = 0
    seconds: float = 0.0


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
    editing: Editing | None  # of translations
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
        try:
            return summary(self)
        except MissingExtra:
            return f"<pre>{escape(str(self))}</pre>"


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
        try:
            return contrast_table(self)
        except MissingExtra:
            return f"<pre>{escape(str(self))}</pre>"
