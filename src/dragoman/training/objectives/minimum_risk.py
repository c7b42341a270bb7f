"""Minimum-risk training (Shen et al. 2016), which minimises a metric of the model's own outputs.

K outputs are sampled for each source, without gradient. The distinct ones and the reference are scored with
gradient, as in teacher forcing, and their expected distance to the reference is the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from dragoman.losses.fast.output import slices
from dragoman.losses.risk import expected_risk
from dragoman.metrics.sentence_distance import Distance
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, Head, LossSum, take
from dragoman.search.sample import sample
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import BOS, PAD
from dragoman.text.tokenizer import Tokenizer


class RiskCandidates(NamedTuple):
    """Candidate outputs, one per row: number `place` of sentence `row`, where 0 is the reference."""

    row: Int[Tensor, " N"]
    place: Int[Tensor, " N"]
    tokens: Int[Tensor, "N T"]  # with </s>, unless truncated, followed by <pad>
    delta: Float[Tensor, " N"]


@dataclass(frozen=True)
class MinimumRisk:
    distance: Distance
    text: Tokenizer  # of the target
    samples: int
    alpha: float
    after: int  # updates of teacher forcing
    longest: int  # maximum length of an output, in tokens

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> LossSum:
        if step <= self.after:
            return model(batch)
        hypotheses = self.candidates(model, batch)
        log_p = log_probability(model, batch, hypotheses)
        shape, at = (len(batch.src), self.samples + 1), (hypotheses.row, hypotheses.place)
        all_log_p = log_p.new_full(shape, -torch.inf).index_put(at, log_p)
        delta = log_p.new_zeros(shape).index_put(at, hypotheses.delta.to(log_p))
        risk = expected_risk(all_log_p, delta, self.alpha)
        # Weight each sentence by its number of target tokens, as in every other loss.
        return LossSum((risk * batch.tgt_keep.sum(dim=1)).sum(), -all_log_p[:, 0].detach().sum())

    def candidates(self, model: Seq2Seq, batch: Batch) -> RiskCandidates:
        drawn = self.sampled(model, batch)
        hypotheses = []
        for row, reference in enumerate(real(batch.tgt_out, batch.tgt_keep)):
            outputs = drawn[row * self.samples : (row + 1) * self.samples]
            wanted = self.text.decode(reference)
            for place, y in enumerate(dict.fromkeys((reference, *outputs))):
                delta = self.distance(self.text.decode(y), wanted) if place else 0.0
                hypotheses.append((row, place, torch.tensor(y), delta))
        rows, places, tokens, deltas = zip(*hypotheses, strict=True)
        padded = torch.nn.utils.rnn.pad_sequence(list(tokens), batch_first=True, padding_value=PAD)
        device = batch.src.device
        return RiskCandidates(
            torch.tensor(rows, device=device),
            torch.tensor(places, device=device),
            padded.to(device),
            torch.tensor(deltas, device=device),
        )

    def sampled(self, model: Seq2Seq, batch: Batch) -> list[tuple[int, ...]]:
        """Return sampled outputs, without dropout, as in inference."""
        training = model.training
        model.eval()
        length = min(2 * batch.tgt_out.shape[1] + 10, self.longest)
        tokens = sample(model, batch.src, batch.src_keep, size=self.samples, max_length=length).tokens
        model.train(training)
        return list(real(tokens, tokens != PAD))


def real(tokens: Int[Tensor, "N T"], keep: Bool[Tensor, "N T"]) -> Iterator[tuple[int, ...]]:
    """Return the rows without padding."""
    return (tuple(row[:n]) for row, n in zip(tokens.tolist(), keep.sum(dim=1).tolist(), strict=True))


def log_probability(model: Seq2Seq, batch: Batch, hypotheses: RiskCandidates) -> Float[Tensor, " N"]:
    """Return Σ_t log p(y_t | y_<t, x) of each candidate."""
    memory = take(model.encoder(batch.src, batch.src_keep), hypotheses.row)
    keep = hypotheses.tokens != PAD
    before = torch.cat((torch.full_like(hypotheses.tokens[:, :1], BOS), hypotheses.tokens[:, :-1]), dim=1)
    h = model.decoder(memory, before)
    log_p = token_log_p(model.head, h[keep], hypotheses.tokens[keep])
    return log_p.new_zeros(keep.shape).masked_scatter(keep, log_p).sum(dim=1)


def token_log_p(head: Head, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Return log p(y | h). The backward pass recomputes logits in slices: all would not fit in memory."""

    def of_slice(h: Tensor, y: Tensor) -> Tensor:
        return head(h).gather(1, y.unsqueeze(1)).squeeze(1)

    parts = [
        checkpoint(of_slice, h[rows], y[rows], use_reentrant=False, preserve_rng_state=False)
        for rows in slices(len(h), h.device)
    ]
    return torch.cat(parts)
