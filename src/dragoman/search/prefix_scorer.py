"""log p of what may follow a prefix, for searches whose hypotheses do not grow in step, such as CTC's."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.protocols import State, Stepper
from dragoman.text.specials import BOS

MOST_PREFIXES = 4096  # whose states are kept


class PrefixScorer:
    """A language model as a function: prefix → log p [V] of the next token, including </s>.

    The state of a prefix is kept, so a prefix that is longer by one token takes one step.
    """

    def __init__(self, lm: Stepper, device: torch.device | None = None) -> None:
        self.lm = lm
        self.device = device
        self._after = lru_cache(maxsize=MOST_PREFIXES)(self._step)

    def __call__(self, prefix: tuple[int, ...]) -> NDArray[np.float64]:
        # From the shortest prefix on: a recursion would be as deep as the prefix is long.
        for length in range(len(prefix)):
            self._after(prefix[:length])
        return self._after(prefix)[0]

    @torch.no_grad()
    def _step(self, prefix: tuple[int, ...]) -> tuple[NDArray[np.float64], State]:
        if prefix:
            state = self._after(prefix[:-1])[1]
        else:
            nothing = torch.zeros(1, 1, dtype=torch.long, device=self.device)
            state = self.lm.start(nothing, nothing == 0, 1)
        step = self.lm.step(torch.tensor([prefix[-1] if prefix else BOS], device=self.device), state)
        return step.log_p[0].double().cpu().numpy(), step.state
