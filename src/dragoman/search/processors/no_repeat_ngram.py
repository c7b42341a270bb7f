"""No repeated n-grams (Paulus et al. 2018), for any stepper."""

from __future__ import annotations

import torch

from dragoman.protocols import State, Step, Stepper
from dragoman.search.processors.wrapper import mask_unless_stuck, unwrap, wrap, wrap_step
from dragoman.shapes import Bool, Int, Shaped, Tensor


class NoRepeatNgram:
    def __init__(self, stepper: Stepper, n: int) -> None:
        self.stepper = stepper
        self.n = n

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        nothing = torch.zeros(len(src) * width, 0, dtype=torch.long, device=src.device)
        return wrap(self.stepper.start(src, keep, width), nothing)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        step = self.stepper.step(y, unwrap(state))
        tokens = torch.cat([state.moving.memory, y.unsqueeze(1)], dim=1)
        forbidden = repeated_ngrams(tokens, self.n, step.log_p.shape[-1])
        return wrap_step(step, mask_unless_stuck(step.log_p, forbidden), tokens)


def repeated_ngrams(tokens: Int[Tensor, "N T"], n: int, size: int) -> Bool[Tensor, "N V"]:
    """Return which tokens would complete an n-gram that the hypothesis already contains."""
    N, T = tokens.shape
    forbidden = torch.zeros(N, size + 1, dtype=torch.bool, device=tokens.device)
    if n > T:
        return forbidden[:, :size]
    runs = tokens.unfold(1, n, 1)
    is_same = (runs[:, :, :-1] == tokens[:, None, T - n + 1 :]).all(-1)
    last = runs[:, :, -1].where(is_same, size)  # the last column is not a token
    return forbidden.scatter_(1, last, True)[:, :size]
