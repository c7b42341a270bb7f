"""Exhaustive search over all outputs, for tiny vocabularies: the reference for testing other searches."""

from __future__ import annotations

import torch

from dragoman.protocols import Stepper
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import Normalise, length_normalised
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import BOS, EOS, PAD


@torch.no_grad()
def exhaustive_search(
    stepper: Stepper,
    src: Int[Tensor, "B S"],
    keep: Bool[Tensor, "B S"],
    *,
    max_length: int,
    normalise: Normalise = length_normalised,
) -> list[list[Hypothesis]]:
    """Return every output of each sentence that ends within `max_length` steps or is cut there, best first.

    There are Σ_t Vᵗ of them, so V and `max_length` must be small.
    """
    B = len(src)
    found: list[list[Hypothesis]] = [[] for _ in range(B)]
    tokens = torch.full((B, 1, 1), BOS, device=src.device)
    log_p = torch.zeros(B, 1, device=src.device)
    state = stepper.start(src, keep, 1)
    for length in range(1, max_length + 1):
        W = tokens.shape[1]
        step = stepper.step(tokens[:, :, -1].flatten(), state)
        total = log_p.unsqueeze(-1) + step.log_p.view(B, W, -1)
        for mine, ys, ps in zip(found, tokens[:, :, 1:].tolist(), total[:, :, EOS].tolist(), strict=True):
            pairs = [(tuple(y), p) for y, p in zip(ys, ps, strict=True) if p > -torch.inf]
            mine += [Hypothesis(y, normalise(p, length), p, True) for y, p in pairs]
        written = [y for y in range(total.shape[-1]) if y not in (PAD, BOS, EOS)]
        y = torch.tensor(written, device=src.device)
        log_p = total[:, :, y].flatten(1)
        tokens = torch.cat(
            (tokens.repeat_interleave(len(y), dim=1), y.repeat(W).expand(B, -1).unsqueeze(-1)), dim=2
        )
        state = step.state.select(torch.arange(B * W, device=src.device).repeat_interleave(len(y)))
    for mine, ys, ps in zip(found, tokens[:, :, 1:].tolist(), log_p.tolist(), strict=True):
        pairs = [(tuple(y), p) for y, p in zip(ys, ps, strict=True) if p > -torch.inf]
        mine += [Hypothesis(y, normalise(p, max_length), p, False) for y, p in pairs]
    return [sorted(mine, key=lambda h: -h.score) for mine in found]
