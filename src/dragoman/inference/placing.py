"""Where what was kept out of a translation goes back in: where the model looked."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dragoman.shapes import Float, Tensor


def places(attention: Float[Tensor, "T S"], gaps: Sequence[int], may_split: Sequence[bool]) -> list[int]:
    """For each gap before source token g, a gap before target token p of those that may be.

    p has the least attention across it: of the tokens before p to g and behind, and of those behind p to
    what stands before g. As g grows p does not fall, so what is put in keeps its order.
    """
    T = len(attention)
    open_gaps = torch.tensor([p for p in range(T + 1) if may_split[p]])
    found: list[int] = []
    for g in gaps:
        across = torch.cat(
            [attention.new_zeros(1), (attention[:, g:].sum(1) - attention[:, :g].sum(1)).cumsum(0)]
        )
        best = int(open_gaps[across[open_gaps].argmin()])
        found.append(max([best, *found[-1:]]))
    return found


def diagonal(T: int, S: int) -> Float[Tensor, "T S"]:
    """The attention of a decoder that looks nowhere: straight along."""
    look = torch.zeros(T, S)
    look[torch.arange(T), torch.arange(T) * S // max(T, 1)] = 1.0
    return look
