"""p(y | x) = Π_t p(y_t | y_<t, x): an encoder, a decoder and a head. A Seq2Seq is also a Stepper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.protocols import Batch, Decoder, Encoder, Head, LossSum, Network, State, Step
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor


class Seq2Seq(Network):
    def __init__(self, encoder: Encoder, decoder: Decoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.head = head

    def forward(self, batch: Batch) -> LossSum:
        """Return the loss under teacher forcing, over the real target tokens only."""
        memory = self.encoder(batch.src, batch.src_keep)
        h = self.decoder(memory, batch.tgt_in)
        return self.head.loss(batch.real(h), batch.real(batch.tgt_out))

    def log_p(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Return log p of every vocabulary entry at each target position, under teacher forcing."""
        h = self.decoder(self.encoder(batch.src, batch.src_keep), batch.tgt_in)
        return self.head(h.flatten(0, 1)).unflatten(0, batch.tgt_in.shape)

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return self.decoder.start(self.encoder(src, keep), width)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        h, state, attention = self.decoder.step(y, state)
        return Step(self.head(h), state, attention)

    if TYPE_CHECKING:
        __call__ = forward
