"""Task: everything that differs between translation, transcription, tagging, classification and text.

The loop, the token store, ranks, checkpoints, model folders and verbs are the same for all tasks. How files
become examples is in `tasks/examples.py`, how those become batches in `tasks/collate.py`, the choice of a
network in `models/builders/network.py`; it returns its loss as a sum over real targets. How its answers are
found is in `tasks/answerers.py` and, without torch, in `tasks/exported.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from dragoman.metrics.report import ScoreReport
from dragoman.metrics.validation import Metrics


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
    """What the answers of a task are worth. It is built from the settings of a run or a model."""

    def measure(self, outputs: Sequence[str], references: Sequence[str]) -> Metrics:
        """Return the metrics of a validation, without intervals."""

    def score(
        self, outputs: Sequence[str], references: Sequence[str], *, lowercase: bool = False
    ) -> ScoreReport:
        """Return the metrics of a test set, with intervals."""
