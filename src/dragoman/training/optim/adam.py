"""Adam and AdamW (Kingma & Ba 2015, Loshchilov & Hutter 2019) on flat parameters, by torch's fused kernel."""

from __future__ import annotations

from typing import Any

import torch

from dragoman.shapes import Float, Tensor
from dragoman.training.optim.flat_parameters import FlatParameters


class Adam:
    """Adam, or AdamW if `decoupled`. Weight decay applies to matrices, not to vectors (biases, norms)."""

    def __init__(
        self,
        flat: FlatParameters,
        *,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        decoupled: bool,
    ) -> None:
        self.flat = flat
        matrices, vectors = flat.master.split((flat.num_matrix, len(flat) - flat.num_matrix))
        self._parts = [torch.nn.Parameter(part) for part in (matrices, vectors) if part.numel()]
        groups: list[dict[str, Any]] = [
            {"params": [part], "weight_decay": decay}
            for part, decay in zip(self._parts, (weight_decay, 0.0), strict=False)
        ]
        kind = torch.optim.AdamW if decoupled else torch.optim.Adam
        self._torch = kind(groups, betas=betas, eps=eps, fused=True)
        self.moments = {name: torch.zeros_like(flat.master) for name in ("exp_avg", "exp_avg_sq")}
        self.steps = 0

    def step(self, gradient: Float[Tensor, " P"], lr: float) -> None:
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
