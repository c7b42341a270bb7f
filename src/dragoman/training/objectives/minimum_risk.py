"""Minimum-risk training (Shen et al. 2016), which minimises a metric of the model's own outputs.

K outputs are sampled for each source, without gradient. The distinct ones and the reference are scored with
gradient, as in teacher forcing, and their expected distance to the reference is the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from dragoman.losses.fast.output import slices
from dragoman.losses.risk import expected_risk
from dragoman.metrics.sentence_distance import Distance
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, Head, LossSum, real_ids, send, take
from dragoman.search.sample import sample
from dragoman.shapes import Float, Int, Tensor
from dragoman.text.specials import BOS, PAD
from dragoman.text.tokenizer import Tokenizer


class RiskCandidates(NamedTuple):
    """Candidate outputs, one per row: number `place` of sentence `row`, where 0 is the reference."""

    row: Int[Tensor, " N"]
    place: Int[Tensor, " N"]
    tokens: Int[Tensor, "N T"]  # with </s>, unless truncated, followed by <pad>
    real: Int[Tensor, " M"]  # indices of the tokens without <pad>, in the flattened matrix
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
        references = list(map(tuple, real_ids(batch.tgt_out, batch.tgt_keep)))
        drawn = self.sampled(model, batch)
        hypotheses = []
        for row, reference in enumerate(references):
            outputs = drawn[row * self.samples : (row + 1) * self.samples]
            wanted = self.text.decode(reference)
            for place, y in enumerate(dict.fromkeys((reference, *outputs))):
                delta = self.distance(self.text.decode(y), wanted) if place else 0.0
                hypotheses.append((row, place, torch.tensor(y), delta))
        rows, places, tokens, deltas = zip(*hypotheses, strict=True)
        padded = torch.nn.utils.rnn.pad_sequence(list(tokens), batch_first=True, padding_value=PAD)
        index = (padded != PAD).flatten().nonzero().squeeze(1)
        parts = (torch.tensor(rows), torch.tensor(places), padded, index, torch.tensor(deltas))
        return RiskCandidates(*(send(x, batch.src.device) for x in parts))

    def sampled(self, model: Seq2Seq, batch: Batch) -> list[tuple[int, ...]]:
        """Return sampled outputs, without dropout, as in inference."""
        training = model.training
        model.eval()
        length = min(2 * batch.tgt_out.shape[1] + 10, self.longest)
        tokens = sample(model, batch.src, batch.src_keep, size=self.samples, max_length=length).tokens
        model.train(training)
        return list(map(tuple, real_ids(tokens, tokens != PAD)))


def log_probability(model: Seq2Seq, batch: Batch, hypotheses: RiskCandidates) -> Float[Tensor, " N"]:
    """Return Σ_t log p(y_t | y_<t, x) of each candidate."""
    memory = take(model.encoder(batch.src, batch.src_keep), hypotheses.row)
    before = torch.cat((torch.full_like(hypotheses.tokens[:, :1], BOS), hypotheses.tokens[:, :-1]), dim=1)
    h = model.decoder(memory, before)
    # By index, not by a mask, whose rows the device would have to count while the host waits.
    h, y = (x.flatten(0, 1).index_select(0, hypotheses.real) for x in (h, hypotheses.tokens.unsqueeze(2)))
    log_p = token_log_p(model.head, h, y.squeeze(1))
    every = log_p.new_zeros(hypotheses.tokens.numel()).index_copy(0, hypotheses.real, log_p)
    return every.view(hypotheses.tokens.shape).sum(dim=1)


def token_log_p(head: Head, h: Float[Tensor, "N D"], y: Int[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Return log p(y | h). The backward pass recomputes logits in slices: all would not fit in memory."""

    def of_slice(h: Tensor, y: Tensor) -> Tensor:
        return head(h).gather(1, y.unsqueeze(1)).squeeze(1)

    parts = [
        checkpoint(of_slice, h[rows], y[rows], use_reentrant=False, preserve_rng_state=False)
        for rows in slices(len(h), h.device)
    ]
    return torch.cat(parts)
