"""Adam and AdamW (Kingma & Ba 2015, Loshchilov & Hutter 2019) on flat parameters, by torch's fused kernel."""

from __future__ import annotations

from typing import Any

import torch

from dragoman.shapes import Float, Tensor
from dragoman.training.optim.flat_parameters import FlatParameters


class Adam:
    """Adam, or AdamW if `decoupled`. Weight decay applies to matrices, not to vectors (biases, norms).

    It updates a part of the parameters, `mine`, and holds the moments of that part only: those of other parts
    are on other ranks (Rajbhandari et al. 2020, ZeRO stage 1).
    """

    def __init__(
        self,
        flat: FlatParameters,
        mine: slice,
        *,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        decoupled: bool,
    ) -> None:
        self.mine = mine
        master = flat.master[mine]
        num_matrix = max(0, min(flat.num_matrix, mine.stop) - mine.start)
        self._parts = [torch.nn.Parameter(part) for part in (master[:num_matrix], master[num_matrix:])]
        groups: list[dict[str, Any]] = [
            {"params": [part], "weight_decay": decay}
            for part, decay in zip(self._parts, (weight_decay, 0.0), strict=True)
        ]
        kind = torch.optim.AdamW if decoupled else torch.optim.Adam
        self._torch = kind(groups, betas=betas, eps=eps, fused=True)
        self.moments = {name: torch.zeros_like(master) for name in ("exp_avg", "exp_avg_sq")}
        self.steps = 0

    def step(self, gradient: Float[Tensor, " N"], lr: float) -> None:
        start = 0
        for part, group in zip(self._parts, self._torch.param_groups, strict=True):
            span = slice(start, start + part.numel())
            part.grad = gradient[span]
            group["lr"] = lr
            state: dict[str, Tensor] = {name: moment[span] for name, moment in self.moments.items()}
            state["step"] = torch.tensor(float(self.steps))
            self._torch.state[part] = state
            start += part.numel()
        self._torch.step()
        self.steps += 1

    def forget(self) -> None:
        """Reset to the state before the first step."""
        for moment in self.moments.values():
            moment.zero_()
        self.steps = 0
