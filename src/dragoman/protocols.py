"""The four interfaces, Encoder, Decoder, Head and Stepper, and the records they exchange.

Any encoder works with any decoder, any head scores the features of any decoder, and search uses a Stepper,
never a model. Modules hold parameters only; everything that changes during decoding is in a State.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import nn

from dragoman.shapes import Bool, Float, Int, Shaped, Tensor


class Batch(NamedTuple):
    """Padded pairs. `tgt_in` is <s> y₁ … y_n, `tgt_out` is y₁ … y_n </s>; `keep` marks real tokens."""

    src: Shaped[Tensor, "B S *f"]  # ids, or the features of each frame
    src_keep: Bool[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]
    tgt_out: Int[Tensor, "B T"]
    tgt_keep: Bool[Tensor, "B T"]
    tgt_index: Int[Tensor, " N"] | None = None  # of the real target tokens, in the flattened batch

    def real(self, x: Shaped[Tensor, "B T *n"]) -> Shaped[Tensor, " N *n"]:
        """Return the rows of the real target tokens."""
        if self.tgt_index is None:
            return x[self.tgt_keep]
        rows = x.flatten(0, 1)
        if len(self.tgt_index) == len(rows):
            return rows
        # With a mask, the host waits for the device to count rows. On a CPU, a mask is faster.
        return x[self.tgt_keep] if x.device.type == "cpu" else rows.index_select(0, self.tgt_index)

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device; the host does not wait for the copy."""
        if device.type == "cpu":
            return self

        def moved(x: Tensor) -> Tensor:
            return (x.pin_memory() if device.type == "cuda" else x).to(device, non_blocking=True)

        return Batch._make(x if x is None else moved(x) for x in self)


class Memory(NamedTuple):
    """The output of an encoder, as read by a decoder.

    `ends` holds h and c of each layer after the last real token, if a recurrent encoder returns them.
    """

    states: Float[Tensor, "B S D"]
    keep: Bool[Tensor, "B S"]
    summary: Float[Tensor, "B Z"]
    ends: Sequence[tuple[Tensor, Tensor]] = ()
    embedded: Float[Tensor, "B S D"] | None = None  # the source embeddings, if the decoder may use them


class State(NamedTuple):
    """The state of a decoder. The first axis of every tensor is the batch.

    `fixed` is computed once from the memory and has one row per sentence (B); `moving` changes at each
    step and has one row per hypothesis (N = B·W, the W hypotheses of a sentence in consecutive rows).
    """

    fixed: Any
    moving: Any

    def select(self, rows: Int[Tensor, " M"]) -> State:
        """Return the state of the hypotheses `rows`, grouped by sentence in the order of `fixed`."""
        return State(self.fixed, take(self.moving, rows))

    def keep_sentences(self, sentences: Int[Tensor, " M"], rows: Int[Tensor, " R"]) -> State:
        """Return the state of these sentences only, with `rows` as their hypotheses."""
        return State(take(self.fixed, sentences), take(self.moving, rows))


class LossSum(NamedTuple):
    """Sums over real target tokens, so that the sums of the parts of a batch add up to its total."""

    loss: Float[Tensor, ""]  # the training objective: smoothed cross-entropy
    nll: Float[Tensor, ""]  # −Σ log p(y), for perplexity


class Step(NamedTuple):
    log_p: Float[Tensor, "N V"]
    state: State
    attention: Float[Tensor, "N S"] | None


Network = nn.Module  # of any task: called with a Batch, it returns a LossSum
Outputs = dict[str, Tensor]  # what a network without a decoder says about a batch, by name


@runtime_checkable
class Encoder(Protocol):
    def __call__(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> Memory: ...


@runtime_checkable
class Decoder(Protocol):
    def __call__(self, memory: Memory, tgt: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Return the features of the whole target; each step sees only itself and earlier steps."""

    def start(self, memory: Memory, width: int) -> State:
        """Return the initial state, with `width` hypotheses per sentence."""

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"] | None]:
        """Return the features, the new state, and the attention weights (None without attention)."""


@runtime_checkable
class Head(Protocol):
    def __call__(self, h: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        """Return log p(y | h)."""

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> LossSum: ...


@runtime_checkable
class Stepper(Protocol):
    """The interface that search uses: one model, an ensemble, or a model under constraints."""

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State: ...

    def step(self, y: Int[Tensor, " N"], state: State) -> Step: ...


def take(tree: Any, rows: Int[Tensor, " M"]) -> Any:
    """Return the given rows of every tensor in a nested state, which reorders the state of any decoder.

    A part with a `take_rows` method selects its rows itself.
    """
    match tree:
        case object(take_rows=take_rows):
            return take_rows(rows)
        case Tensor():
            return tree.index_select(0, rows)
        case tuple() | list():
            parts = [take(part, rows) for part in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        case _:
            return tree


def send(x: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host on the device. The host does not wait until the device is ready for it."""
    return x.to(device, non_blocking=True)


def real_ids(ids: Int[Tensor, "N T"], keep: Bool[Tensor, "N T"]) -> list[list[int]]:
    """Return the rows without padding, by one transfer."""
    rows, masks = torch.stack((ids, keep.long())).tolist()
    return [list(compress(row, mask)) for row, mask in zip(rows, masks, strict=True)]
