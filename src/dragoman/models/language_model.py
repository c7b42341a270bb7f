"""p(y) = Π_t p(y_t | y_<t): a decoder without a source, and a head. A LanguageModel is also a Stepper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.protocols import Batch, Decoder, Head, LossSum, Memory, Network, State, Step
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor


class LanguageModel(Network):
    """A language model. Of a source, only the number of its rows is used."""

    def __init__(self, decoder: Decoder, head: Head) -> None:
        super().__init__()
        self.decoder = decoder
        self.head = head

    def forward(self, batch: Batch) -> LossSum:
        """Return the loss under teacher forcing, over the real tokens only."""
        h = self.decoder(nothing(batch.tgt_in), batch.tgt_in)
        return self.head.loss(batch.real(h), batch.real(batch.tgt_out))

    def log_p(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Return log p of every vocabulary entry at each position, under teacher forcing."""
        return self.next_log_p(batch.tgt_in)

    def token_log_p(self, before: Int[Tensor, "B T"], y: Int[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        """Return log p(y_t | y_<t), where `before` is <s> y₁ … y_{T−1}."""
        return self.next_log_p(before).gather(2, y.unsqueeze(2)).squeeze(2)

    def next_log_p(self, before: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        h = self.decoder(nothing(before), before)
        return self.head(h.flatten(0, 1)).unflatten(0, before.shape)

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return self.decoder.start(nothing(src), width)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        h, state, _ = self.decoder.step(y, state)
        return Step(self.head(h), state, None)

    if TYPE_CHECKING:
        __call__ = forward


def nothing(rows: Int[Tensor, "B T"]) -> Memory:
    """Return the memory of sources without tokens, which are as many as `rows`."""
    empty = rows.new_zeros(rows.shape[0], 0).float()
    return Memory(empty.unsqueeze(1)[:, :0], empty.bool(), empty)
