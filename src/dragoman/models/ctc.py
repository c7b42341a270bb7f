"""p(l | x) = Σ_π Π_t y^t(π_t) over the paths π with the labelling l: an encoder and a CTC head.

The answer has the order of the source, but another timing (Graves et al. 2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from dragoman.models.heads.ctc import CTCHead, Frames
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, Decoder, Encoder, Head, LossSum, Outputs
from dragoman.shapes import Bool, Float, Int, Tensor

Source = Int[Tensor, "B S"] | Float[Tensor, "B S X"]  # tokens, or frames of a picture or a sound


class CTC(nn.Module):
    def __init__(self, encoder: Encoder, head: CTCHead) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, batch: Batch) -> LossSum:
        return self.head.loss(self.encoder(batch.src, batch.src_keep), batch)

    def frames(self, src: Source, keep: Bool[Tensor, "B S"]) -> Frames:
        """Return log y^t at every frame, which a search reads."""
        return self.head(self.encoder(src, keep))

    def outputs(self, src: Source, keep: Bool[Tensor, "B S"]) -> Outputs:
        return self.frames(src, keep).outputs()

    def log_p(self, batch: Batch) -> Float[Tensor, " B"]:
        """Return log p(l | x) of each row."""
        return -self.head.nll(self.encoder(batch.src, batch.src_keep), batch)

    if TYPE_CHECKING:
        __call__ = forward


class JointCTC(Seq2Seq):
    """λ log p_ctc(y | x) + (1 − λ) log p_att(y | x), of one encoder (Watanabe et al. 2017, eq. 8).

    CTC makes the attention of the decoder monotonic; the decoder knows what it has written.
    """

    def __init__(
        self, encoder: Encoder, decoder: Decoder, head: Head, ctc: CTCHead, ctc_weight: float
    ) -> None:
        super().__init__(encoder, decoder, head)
        self.ctc = ctc
        self.ctc_weight = ctc_weight

    def forward(self, batch: Batch) -> LossSum:
        memory = self.encoder(batch.src, batch.src_keep)
        h = self.decoder(memory, batch.tgt_in)
        attention = self.head.loss(batch.real(h), batch.real(batch.tgt_out))
        ctc, weight = self.ctc.loss(memory, batch), self.ctc_weight
        return LossSum(*(weight * a + (1.0 - weight) * b for a, b in zip(ctc, attention, strict=True)))

    def frames(self, src: Source, keep: Bool[Tensor, "B S"]) -> Frames:
        return self.ctc(self.encoder(src, keep))

    def outputs(self, src: Source, keep: Bool[Tensor, "B S"]) -> Outputs:
        return self.frames(src, keep).outputs()

    def log_p_attention(self, batch: Batch) -> Float[Tensor, " B"]:
        """Return log p_att(y | x) of each row, for re-ranking."""
        log_p = self.log_p(batch).gather(2, batch.tgt_out.unsqueeze(2)).squeeze(2)
        return (log_p * batch.tgt_keep).sum(dim=1)

    if TYPE_CHECKING:
        __call__ = forward
