"""The linear-chain conditional random field (Lafferty et al. 2001) over the tags of a sentence.

s(P, y) = start_{y_1} + Σ_t P_{t, y_t} + Σ_t A_{y_t, y_{t+1}} + end_{y_n} and p(y | P) = exp(s(P, y)) / Z(P)
(Lample et al. 2016, section 2.2, whose A has two more tags for start and end). Z sums over all sequences.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from dragoman.shapes import Bool, Float, Int, Tensor

NEVER = -1e4  # added to a forbidden score: exp of it is 0, and its gradient is a number


class CRF(nn.Module):
    """Transitions between V tags. P are the scores of the tags, one row per word; words come before padding.

    `search/tags.py` finds the answers. Forbidden tags and transitions are left out of them, not of the loss:
    a corpus with such a sequence can still be learned.
    """

    no_start: Tensor
    no_step: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.A = nn.Parameter(torch.zeros(size, size))
        self.start = nn.Parameter(torch.zeros(size))
        self.end = nn.Parameter(torch.zeros(size))
        self.register_buffer("no_start", torch.zeros(size, dtype=torch.bool), persistent=False)
        self.register_buffer("no_step", torch.zeros(size, size, dtype=torch.bool), persistent=False)

    def forbid(self, no_start: Bool[Tensor, " V"], no_step: Bool[Tensor, "V V"]) -> None:
        """Forbid tags at the start of a sentence, and steps from the tag of a row to that of a column."""
        self.no_start.copy_(no_start)
        self.no_step.copy_(no_step)

    def score(
        self, P: Float[Tensor, "B T V"], y: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> Float[Tensor, " B"]:
        """Return s(P, y)."""
        words = P.gather(2, y.unsqueeze(2)).squeeze(2) * keep
        steps = self.A[y[:, :-1], y[:, 1:]] * keep[:, 1:]
        last = y.gather(1, keep.sum(dim=1, keepdim=True) - 1).squeeze(1)
        return self.start[y[:, 0]] + words.sum(dim=1) + steps.sum(dim=1) + self.end[last]

    def log_Z(self, P: Float[Tensor, "B T V"], keep: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
        """Return log Σ_y exp(s(P, y)) by the forward algorithm."""
        return torch.logsumexp(forward_scores(P, keep, self.start, self.A)[-1] + self.end, dim=1)

    def nll(
        self, P: Float[Tensor, "B T V"], y: Int[Tensor, "B T"], keep: Bool[Tensor, "B T"]
    ) -> Float[Tensor, " B"]:
        """Return −log p(y | P)."""
        return self.log_Z(P, keep) - self.score(P, y, keep)

    def allowed(self) -> tuple[Float[Tensor, " V"], Float[Tensor, "V V"]]:
        """Return start and A of the answers, with the scores of what is forbidden."""
        return self.start + NEVER * self.no_start, self.A + NEVER * self.no_step


def forward_scores(
    P: Float[Tensor, "B T V"],
    keep: Bool[Tensor, "B T"],
    start: Float[Tensor, " V"],
    A: Float[Tensor, "V V"],
) -> list[Float[Tensor, "B V"]]:
    """Return α_t(j) = P_tj + log Σ_i exp(α_{t−1}(i) + A_ij); after the last word, α stays as it is."""
    alpha = [start + P[:, 0]]
    for t in range(1, P.shape[1]):
        new = torch.logsumexp(alpha[-1].unsqueeze(2) + A, dim=1) + P[:, t]
        alpha.append(torch.where(keep[:, t, None], new, alpha[-1]))
    return alpha


def iob_forbidden(names: Sequence[str]) -> tuple[Bool[Tensor, " V"], Bool[Tensor, "V V"]]:
    """Return what IOB2 forbids: I-x at the start, and after other tags than B-x and I-x.

    Names without B- or I- are like O. Tags whose B-x does not exist are not restricted: that is not IOB2.
    """
    inside = [name[2:] if name.startswith("I-") and f"B-{name[2:]}" in names else None for name in names]
    open_types = [name[2:] if name.startswith(("B-", "I-")) else None for name in names]
    start = torch.tensor([kind is not None for kind in inside])
    steps = [[kind is not None and kind != before for kind in inside] for before in open_types]
    return start, torch.tensor(steps)
