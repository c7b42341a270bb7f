"""Task: everything that differs between translation, transcription, tagging, classification and text.

The loop, the token store, ranks, checkpoints, model folders and verbs are the same for all tasks. How files
become examples is in `tasks/examples.py`, and the choice of a network in `models/builders/network.py`; it
returns its loss as a sum over real targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from dragoman.data.collate import IdPair
from dragoman.data.examples import TokenIds
from dragoman.data.pair import Pair
from dragoman.metrics.report import ScoreReport
from dragoman.metrics.validation import Metrics
from dragoman.models.bundle import Bundle
from dragoman.models.calibration import Calibration
from dragoman.protocols import Batch


@runtime_checkable
class Answer(Protocol):
    """What a model says about one input."""

    @property
    def text(self) -> str:
        """The answer as one line, as `dragoman run` prints it."""

    def asdict(self) -> dict[str, Any]: ...


# A model that is ready to answer, called with a list of inputs and the options of its task. The answer to an
# input does not depend on the others.
Answerer = Callable[..., Sequence[Answer]]


@runtime_checkable
class Task(Protocol):
    """One task, built from the settings of a run or a model."""

    def collate(self, rows: Sequence[IdPair]) -> Batch:
        """Return rows of the token store as a batch."""

    def answerer(self, bundle: Bundle, valid: Sequence[TokenIds] = ()) -> Answerer:
        """Return how answers are found. `valid` are validation rows, if limits are learned from them."""

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        """Return the metrics of a validation, without intervals."""

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        """Return the metrics of a test set, with intervals."""

    def calibrate(self, answerer: Answerer, pairs: Sequence[Pair]) -> Calibration | None:
        """Return the calibration of confidences, learned on validation pairs; None if the task has none."""
