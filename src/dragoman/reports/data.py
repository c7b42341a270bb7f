"""What a report says, as plain data: numbers, strings, and tuples and dictionaries of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dragoman.analysis.reasons import Reason

Interval = tuple[float, float]


@dataclass(frozen=True)
class EvaluationSet:
    """What a model was measured on: `kind` is "test set" or "validation set"."""

    kind: str
    files: tuple[str, ...]  # none if the pairs were held out of the training data
    sentences: int

    @property
    def described(self) -> str:
        return f"{self.sentences:,} sentences of the {self.kind}"


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


@dataclass(frozen=True)
class Gain:
    """How much better the model is than a baseline: positive is better, also for an error rate."""

    metric: str
    title: str
    baseline: str
    difference: float
    interval: Interval


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
