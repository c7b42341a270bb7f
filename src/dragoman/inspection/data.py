"""What can be seen inside a model, as plain data: numbers, strings and tuples of them, without PyTorch.

`dataclasses.asdict` turns each of these into JSON, and `pictures` draws them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from dragoman.search.trace import Status

Vector = tuple[float, ...]
Matrix = tuple[Vector, ...]  # rows

# Who attends to whom: source to source, output to the output so far, output to source, one query to source.
AttentionKind = Literal["encoder", "decoder", "cross", "pooling"]


@dataclass(frozen=True)
class AttentionLayer:
    """The weights of one layer: for each head a row per query, which sums to 1. Layers count from 1."""

    kind: AttentionKind
    layer: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    heads: tuple[Matrix, ...]

    @property
    def mean(self) -> Matrix:
        """The mean of the heads."""
        return tuple(
            tuple(math.fsum(cell) / len(self.heads) for cell in zip(*rows, strict=True))
            for rows in zip(*self.heads, strict=True)
        )

    @property
    def entropies(self) -> Vector:
        """The mean entropy of the rows of each head, in nats: 0 if it attends to one key, log S to all."""
        return tuple(math.fsum(map(entropy, head)) / max(len(head), 1) for head in self.heads)


def entropy(p: Vector) -> float:
    return math.fsum(-x * math.log(x) for x in p if x > 0.0)


@dataclass(frozen=True)
class Choice:
    """One entry of the vocabulary as the next token, and its probability."""

    token: str
    p: float


@dataclass(frozen=True)
class OutputStep:
    """One step of the output: what was written, with which probability, and what might have been.

    `entropy` is that of the distribution, in nats.
    """

    token: str
    p: float
    entropy: float
    top: tuple[Choice, ...]


@dataclass(frozen=True)
class BeamNode:
    """A candidate of a search: `token` after the path of `parent`, which is 0 for the first step.

    `p` is the probability of the token, `log_p` that of the whole path, `score` its rank in the search.
    """

    number: int
    parent: int
    step: int
    group: int
    token: str
    p: float
    log_p: float
    score: float
    fate: Status
    why: str


@dataclass(frozen=True)
class BeamTree:
    """Every candidate of a search. `best` are the numbers of the hypotheses it returned, best first."""

    nodes: tuple[BeamNode, ...]
    best: tuple[int, ...]

    def path(self, number: int) -> tuple[int, ...]:
        """Return the numbers from the first step to this candidate."""
        found: list[int] = []
        while number:
            found.append(number)
            number = self.nodes[number - 1].parent
        return tuple(reversed(found))


SaliencyMethod = Literal["input × gradient", "integrated gradients", "occlusion"]


@dataclass(frozen=True)
class Saliency:
    """How much each source token contributes to log p of each output token: a row per output token.

    `gap` is how far the rows of integrated gradients are from log p(y) − log p(y | unknown words), relative
    to it and over all rows; None for other methods.
    """

    method: SaliencyMethod
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    scores: Matrix
    gap: float | None = None


@dataclass(frozen=True)
class CellTrace:
    """The gates and states of a recurrent cell, or the outputs of a convolution: a row per token each."""

    name: str
    kind: str
    tokens: tuple[str, ...]
    gates: dict[str, Matrix] = field(default_factory=dict)
    states: dict[str, Matrix] = field(default_factory=dict)


@dataclass(frozen=True)
class GradientFlow:
    """‖∂L/∂h_t‖₂ of the loss L = −log p(output), where h is the output of a layer or the state of a cell."""

    layers: tuple[GradientLayer, ...]


@dataclass(frozen=True)
class GradientLayer:
    """`recurrent` has ‖W_hh‖₂ of a cell, of the block that makes new content."""

    name: str
    tokens: tuple[str, ...]
    norms: Vector
    recurrent: Vector = ()


@dataclass(frozen=True)
class Equation:
    """An equation and its numbers at one step, those of `labels`, or of each feature if there are none."""

    name: str
    formula: str
    labels: tuple[str, ...]
    values: Vector


@dataclass(frozen=True)
class TagMarginals:
    """p(tag | sentence) of each word, a row per word, and the tags that were chosen.

    By a conditional random field the chosen tags are the best sequence, which need not have the most likely
    tag of every word.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    p: Matrix
    chosen: tuple[str, ...]


@dataclass(frozen=True)
class AlignedToken:
    """A token of a transcription, its frames from `start` up to but excluding `end`, and its confidence."""

    token: str
    start: int
    end: int
    confidence: float


@dataclass(frozen=True)
class CTCAlignment:
    """Where a transcription was read. `posteriors` has a row per frame of the output and a column per label,
    the last of which is the blank; `source` the features of each frame of the input, if it is no text."""

    tokens: tuple[AlignedToken, ...]
    labels: tuple[str, ...]
    posteriors: Matrix
    source: Matrix = ()


@dataclass(frozen=True)
class Positions:
    """The vectors of positions: a row per position. `kind` is that of the settings."""

    name: str
    kind: str
    vectors: Matrix


@dataclass(frozen=True)
class Curve:
    """A line of a chart: points from left to right; `band` has a low and a high value for each, or none."""

    name: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class LearningCurves:
    """The loss per token and the metrics of a run, by update."""

    losses: tuple[Curve, ...]
    metrics: tuple[Curve, ...]


@dataclass(frozen=True)
class Reliability:
    """Of answers with about the same confidence: its mean, how many of them are right, and how many they are.

    `error` is the calibration error, the mean distance between the first two.
    """

    confidence: Vector
    accuracy: Vector
    count: tuple[int, ...]
    error: float


@dataclass(frozen=True)
class ConfusionCounts:
    """How often each label (row) was predicted as each (column)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
