"""The two ONNX graphs of a model: source → initial decoder state; token and state → log p and next state.

`state.json` names the tensors of a state.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.export import Dim
from torch.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

from dragoman.export.onnx.trace import trace
from dragoman.export.onnx.traceable import traceable
from dragoman.inference.runtimes.onnx_file import ENCODER, FORMAT, STATE, STEP
from dragoman.models.language_model import LanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import State
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import EOS

B, S, W = "B", "S", "W"  # dynamic axes
ROWS, WIDTH, LENGTHS = 3, 2, (5, 7)  # of the example inputs: different sizes, none of them 1

Tensors = tuple[Tensor, ...]
Steps = Seq2Seq | LanguageModel  # networks that are searched step by step


@dataclass(frozen=True)
class Half:
    """Half of a state as a flat list of tensors, without those that are empty."""

    name: str
    spec: TreeSpec
    shapes: list[tuple[int, ...]]  # without the batch axis
    along: list[dict[int, str]]  # the axes that depend on the source length

    @classmethod
    def of(cls, name: str, short: Any, long: Any) -> Half:
        """Create it from the states of a shorter and a longer source."""
        (leaves, spec), (others, _) = tree_flatten(short), tree_flatten(long)
        pairs = [(a.shape, b.shape) for a, b in zip(leaves, others, strict=True)]
        along = [{k: S for k in range(1, len(a)) if a[k] != b[k]} for a, b in pairs]
        return cls(name, spec, [tuple(a[1:]) for a, _ in pairs], along)

    @property
    def full(self) -> list[int]:
        return [place for place, shape in enumerate(self.shapes) if 0 not in shape]

    @property
    def names(self) -> list[str]:
        return [f"{self.name}_{number}" for number in range(len(self.full))]

    def axes(self, rows: dict[int, str]) -> tuple[dict[int, str], ...]:
        """Return the dynamic axes of each tensor, including `rows`."""
        return tuple({**rows, **self.along[place]} for place in self.full)

    def flat(self, tree: Any) -> Tensors:
        leaves = tree_flatten(tree)[0]
        return tuple(leaves[place].contiguous() for place in self.full)

    def tree(self, tensors: Sequence[Tensor], rows: int) -> Any:
        given = iter(tensors)
        leaves = [torch.empty(rows, *shape) if 0 in shape else next(given) for shape in self.shapes]
        return tree_unflatten(leaves, self.spec)


class Encoding(nn.Module):
    """A graph from a source to the initial state with one hypothesis per sentence."""

    def __init__(self, model: Steps, fixed: Half, moving: Half) -> None:
        super().__init__()
        self.model, self.fixed, self.moving = model, fixed, moving

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Tensors:
        state = self.model.start(src, keep, 1)
        return *self.fixed.flat(state.fixed), *self.moving.flat(state.moving)

    if TYPE_CHECKING:
        __call__ = forward


class Stepping(nn.Module):
    """A graph from a token of each hypothesis and a state to log p, the next state and the attention.

    Hypotheses have their own axis: moving tensors are B × W × …, so that both sizes are dynamic.
    """

    def __init__(self, model: Steps, fixed: Half, moving: Half) -> None:
        super().__init__()
        self.model, self.fixed, self.moving = model, fixed, moving

    def forward(self, y: Int[Tensor, "B W"], tensors: Tensors) -> Tensors:
        shape, count = (y.shape[0], y.shape[1]), len(self.fixed.full)
        moving = [x.flatten(0, 1) for x in tensors[count:]]
        state = State(
            self.fixed.tree(tensors[:count], shape[0]), self.moving.tree(moving, shape[0] * shape[1])
        )
        log_p, state, attention = self.model.step(y.flatten(), state)
        outputs = [log_p, *self.moving.flat(state.moving), *([] if attention is None else [attention])]
        return tuple(x.unflatten(0, shape) for x in outputs)

    if TYPE_CHECKING:
        __call__ = forward


@torch.no_grad()
def write(model: Steps, longest: int, folder: Path) -> None:
    """Write both graphs, for sources of at most `longest` tokens, and the names of their states."""
    source = torch.full((ROWS, LENGTHS[1]), EOS)
    keep = torch.ones_like(source, dtype=torch.bool)
    short, long = (model.start(source[:, :n], keep[:, :n], 1) for n in LENGTHS)
    fixed, moving = Half.of("fixed", short.fixed, long.fixed), Half.of("moving", short.moving, long.moving)
    looks = [] if model.step(source[:, 0], long).attention is None else ["attention"]
    nexts = [f"next_{number}" for number in range(len(moving.names))]
    traced, free = traceable(model), {B: Dim(B), S: Dim(S, max=longest), W: Dim(W)}
    trace(
        Encoding(traced, fixed, moving),
        (source, keep),
        tree_map(free.__getitem__, ({0: B, 1: S}, {0: B, 1: S})),
        (["src", "keep"], [*fixed.names, *moving.names]),
        folder / ENCODER,
    )
    wide = tuple(x.unsqueeze(1).repeat_interleave(WIDTH, 1) for x in moving.flat(long.moving))
    trace(
        Stepping(traced, fixed, moving),
        (source[:, :WIDTH].contiguous(), (*fixed.flat(long.fixed), *wide)),
        tree_map(free.__getitem__, ({0: B, 1: W}, (*fixed.axes({0: B}), *moving.axes({0: B, 1: W})))),
        (["y", *fixed.names, *moving.names], ["log_p", *nexts, *looks]),
        folder / STEP,
    )
    write_state(folder, fixed.names, dict(zip(moving.names, nexts, strict=True)), attends=bool(looks))


def write_state(folder: Path, fixed: Sequence[str], moving: dict[str, str], *, attends: bool) -> None:
    facts = {"format": FORMAT, "fixed": fixed, "moving": moving, "attention": attends}
    (folder / STATE).write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
