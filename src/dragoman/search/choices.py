"""Which tokens may be chosen; the k best of them with ties in a fixed order, or one by chance."""

from __future__ import annotations

import torch

from dragoman.shapes import Float, Int, Tensor
from dragoman.text.specials import BOS, PAD


def allowed(log_p: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """<pad> and <s> are never written."""
    return log_p.index_fill(-1, torch.tensor([PAD, BOS], device=log_p.device), -torch.inf)


def best(x: Float[Tensor, "B N"], k: int) -> tuple[Float[Tensor, "B k"], Int[Tensor, "B k"]]:
    """The k largest of each row, largest first, equal ones in the order they stand.

    `topk` leaves the order of equal values open and differs between devices and builds.
    """
    value, index = x.topk(k, dim=-1)
    last = value[:, -1:]
    cut = (x == last).sum(-1) > (value == last).sum(-1)  # equal values on both sides of the k-th place
    tied = (cut & last.squeeze(-1).isfinite()).nonzero().squeeze(-1)
    if len(tied):
        index[tied] = x[tied].argsort(dim=-1, descending=True, stable=True)[:, :k]
    index = index.sort(dim=-1).values
    value, order = x.gather(-1, index).sort(dim=-1, descending=True, stable=True)
    return value, index.gather(-1, order)


def drawn(log_p: Float[Tensor, "N V"], u: Float[Tensor, " N"]) -> Int[Tensor, " N"]:
    """A token of each row with its probability: where u ∈ [0, 1) falls in the distribution function."""
    total = log_p.double().exp().cumsum(dim=-1)
    place = torch.searchsorted(total, u.double().unsqueeze(1) * total[:, -1:], right=True).squeeze(1)
    return place.clamp_max(log_p.shape[-1] - 1)
