"""Beam expansion: the best continuations of a beam, or of diverse groups within it."""

from __future__ import annotations

from typing import NamedTuple

import torch

from dragoman.search.topk import topk_sums
from dragoman.shapes import Float, Int, Tensor
from dragoman.text.specials import EOS


class BeamCandidates(NamedTuple):
    """The best continuations in each group of each sentence, best first; `parent` indexes the sentence's W.

    There are twice as many as the group is wide, because at most half of them end.
    """

    log_p: Float[Tensor, "B G C"]
    parent: Int[Tensor, "B G C"]
    token: Int[Tensor, "B G C"]

    def open(self) -> BeamCandidates:
        """Return the best continuations that do not end, as many as the group is wide."""
        rank = (self.token == EOS).int().argsort(dim=-1, stable=True)[..., : self.token.shape[-1] // 2]
        return BeamCandidates(*(x.gather(-1, rank) for x in self))


def to_host(
    candidates: BeamCandidates, penalty: Float[Tensor, "B W"] | None
) -> tuple[BeamCandidates, Float[Tensor, "B W"] | None]:
    """Return both on the CPU, by one transfer: fp32 represents all tokens exactly."""
    log_p = candidates.log_p
    if log_p.device.type == "cpu":
        return candidates, penalty
    parts = [x.to(log_p).flatten(1) for x in (*candidates, *(() if penalty is None else (penalty,)))]
    found = torch.cat(parts, dim=1).cpu().split([part.shape[1] for part in parts], dim=1)
    values, parent, token = (x.view(log_p.shape) for x in found[:3])
    return BeamCandidates(values, parent.long(), token.long()), None if penalty is None else found[3]


def continuations(p: Float[Tensor, "B W"], log_p: Float[Tensor, "N V"]) -> BeamCandidates:
    """Return the best continuations by Σ log p over all W hypotheses and all tokens."""
    V = log_p.shape[-1]
    value, index = topk_sums(p, log_p, 2 * p.shape[1])
    return BeamCandidates(value.unsqueeze(1), (index // V).unsqueeze(1), (index % V).unsqueeze(1))


def diverse_continuations(
    p: Float[Tensor, "B W"], log_p: Float[Tensor, "N V"], groups: int, diversity: float
) -> BeamCandidates:
    """Select for each group by Σ log p − λ · (how often earlier groups chose that token at this step).

    Diverse beam search with Hamming diversity (Vijayakumar et al. 2016). λ affects only the selection; the
    returned Σ log p does not include it.
    """
    B, W = p.shape
    V, width = log_p.shape[-1], W // groups
    counts = log_p.new_zeros(B, 1, V)
    parts: list[tuple[Tensor, ...]] = []
    for group_p, log_q in zip(p.split(width, dim=1), log_p.view(B, W, V).split(width, dim=1), strict=True):
        value, index = topk_sums(group_p, (log_q - diversity * counts).flatten(0, 1), 2 * width)
        token, parent = index % V, index // V
        penalty = diversity * counts.squeeze(1).gather(1, token)
        parts.append((value + penalty, parent + len(parts) * width, token))
        counts.squeeze(1).scatter_add_(1, token[:, :width], torch.ones_like(penalty[:, :width]))
    return BeamCandidates(*(torch.stack(x, dim=1) for x in zip(*parts, strict=True)))
