"""The four seams: Encoder, Decoder, Head, Stepper; and the records that cross them.

Any encoder feeds any decoder, any head scores any decoder's features, and search sees a Stepper,
never a model. Modules hold parameters only; whatever changes while decoding travels in a State.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dragoman.shapes import Bool, Float, Int, Tensor


class Batch(NamedTuple):
    """Padded pairs. `tgt_in` is <s> y₁ … y_n, `tgt_out` is y₁ … y_n </s>; `keep` marks real tokens."""

    src: Int[Tensor, "B S"]
    src_keep: Bool[Tensor, "B S"]
    tgt_in: Int[Tensor, "B T"]
    tgt_out: Int[Tensor, "B T"]
    tgt_keep: Bool[Tensor, "B T"]


class Memory(NamedTuple):
    """What an encoder leaves for a decoder.

    `ends` has the h and c of each layer of a recurrent encoder after the last real token, where it has one.
    """

    states: Float[Tensor, "B S D"]
    keep: Bool[Tensor, "B S"]
    summary: Float[Tensor, "B Z"]
    ends: Sequence[tuple[Tensor, Tensor]] = ()
    embedded: Float[Tensor, "B S D"] | None = None  # the tokens under the states, if decoders may see them


class State(NamedTuple):
    """Where a decoder stands. Every tensor has the batch first.

    `fixed` was computed once from the memory and has a row per sentence (B); `moving` changes at each
    step and has a row per hypothesis (N = B·W, the W hypotheses of a sentence side by side).
    """

    fixed: Any
    moving: Any

    def select(self, rows: Int[Tensor, " M"]) -> State:
        """The hypotheses `rows`, each of the sentence that stands at its place."""
        return State(self.fixed, take(self.moving, rows))

    def keep_sentences(self, sentences: Int[Tensor, " M"], rows: Int[Tensor, " R"]) -> State:
        """Only these sentences go on, with these hypotheses of theirs."""
        return State(take(self.fixed, sentences), take(self.moving, rows))


class LossSum(NamedTuple):
    """Sums over real target tokens, so that parts of a batch add up to the whole."""

    loss: Float[Tensor, ""]  # what is minimised: smoothed cross-entropy
    nll: Float[Tensor, ""]  # −Σ log p(y), for perplexity


class Step(NamedTuple):
    log_p: Float[Tensor, "N V"]
    state: State
    attention: Float[Tensor, "N S"] | None


@runtime_checkable
class Encoder(Protocol):
    def __call__(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Memory: ...


@runtime_checkable
class Decoder(Protocol):
    def __call__(
        self, memory: Memory, tgt: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """The whole target at once, each step seeing only what stands before it."""

    def start(self, memory: Memory, width: int) -> State:
        """`width` fresh hypotheses for each sentence."""

    def step(
        self, y: Int[Tensor, " N"], state: State
    ) -> tuple[Float[Tensor, "N D"], State, Float[Tensor, "N S"] | None]:
        """Features, the new state, and where it looked, if it looks anywhere."""


@runtime_checkable
class Head(Protocol):
    def __call__(self, h: Float[Tensor, "N D"]) -> Float[Tensor, "N V"]:
        """log p(y | h)."""

    def loss(self, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> LossSum: ...


@runtime_checkable
class Stepper(Protocol):
    """One model, an ensemble, or a model under a constraint: all that search may know."""

    def start(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], width: int) -> State: ...

    def step(self, y: Int[Tensor, " N"], state: State) -> Step: ...


def take(tree: Any, rows: Int[Tensor, " M"]) -> Any:
    """Rows of every tensor in a state, whatever its shape: this reorders any decoder.

    A part that has `take_rows` does it in a way of its own.
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
