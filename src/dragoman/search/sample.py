"""Sampling: each token drawn from p, so that an output comes up as often as it is probable."""

from __future__ import annotations

import torch

from dragoman.nn.dropout import uniform
from dragoman.protocols import Stepper
from dragoman.search.choices import allowed, drawn
from dragoman.shapes import Bool, Int, Tensor
from dragoman.text.specials import BOS, EOS, PAD


@torch.no_grad()
def sample(
    stepper: Stepper, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"], *, size: int, max_length: int
) -> Int[Tensor, "N T"]:
    """`size` outputs of each sentence, side by side; each with </s>, unless it is cut, and then <pad>."""
    y = torch.full((len(src) * size,), BOS, device=src.device)
    is_open = torch.ones_like(y, dtype=torch.bool)
    state = stepper.start(src, keep, size)
    tokens = []
    for _ in range(max_length):
        step = stepper.step(y, state)
        y = drawn(allowed(step.log_p), uniform(len(y), y.device)).masked_fill(~is_open, PAD)
        tokens.append(y)
        state, is_open = step.state, is_open & (y != EOS)
        if not bool(is_open.any()):
            break
    return torch.stack(tokens, dim=1)
