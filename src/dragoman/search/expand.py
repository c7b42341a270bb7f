"""How the hypotheses of a beam go on: the best continuations, in one beam or in groups that differ."""

from __future__ import annotations

from typing import NamedTuple

import torch

from dragoman.search.topk import topk_sums
from dragoman.shapes import Float, Int, Tensor
from dragoman.text.specials import EOS


class BeamCandidates(NamedTuple):
    """The best continuations in each group of each sentence, best first; `parent` is one of the sentence's W.

    There are twice as many as a group has places: at most half of them end.
    """

    log_p: Float[Tensor, "B G C"]
    parent: Int[Tensor, "B G C"]
    token: Int[Tensor, "B G C"]

    def open(self) -> BeamCandidates:
        """The best that do not end, as many as a group has places."""
        rank = (self.token == EOS).int().argsort(dim=-1, stable=True)[..., : self.token.shape[-1] // 2]
        return BeamCandidates(*(x.gather(-1, rank) for x in self))


def continuations(p: Float[Tensor, "B W"], log_p: Float[Tensor, "N V"]) -> BeamCandidates:
    """The best of Σ log p over all W hypotheses and all tokens."""
    V = log_p.shape[-1]
    value, index = topk_sums(p, log_p, 2 * p.shape[1])
    return BeamCandidates(value.unsqueeze(1), (index // V).unsqueeze(1), (index % V).unsqueeze(1))


def diverse_continuations(
    p: Float[Tensor, "B W"], log_p: Float[Tensor, "N V"], groups: int, diversity: float
) -> BeamCandidates:
    """Each group chooses by Σ log p − λ · (how often the groups before it chose that token at this step).

    Diverse beam search with Hamming diversity (Vijayakumar et al. 2016). λ chooses; Σ log p stays as it is.
    """
    B, W = p.shape
    V, width = log_p.shape[-1], W // groups
    said = log_p.new_zeros(B, 1, V)
    parts: list[tuple[Tensor, ...]] = []
    for mine, log_q in zip(p.split(width, dim=1), log_p.view(B, W, V).split(width, dim=1), strict=True):
        value, index = topk_sums(mine, (log_q - diversity * said).flatten(0, 1), 2 * width)
        token, parent = index % V, index // V
        paid = diversity * said.squeeze(1).gather(1, token)
        parts.append((value + paid, parent + len(parts) * width, token))
        said.squeeze(1).scatter_add_(1, token[:, :width], torch.ones_like(paid[:, :width]))
    return BeamCandidates(*(torch.stack(x, dim=1) for x in zip(*parts, strict=True)))
