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
        for part, span in zip(self._parts, (slice(num_matrix), slice(num_matrix, None)), strict=True):
            state = {name: moment[span] for name, moment in self.moments.items()}
            self._torch.state[part] = {**state, "step": master.new_zeros(())}

    @property
    def steps(self) -> int:
        """The number of steps that were applied. On other devices than a CPU, the host waits for it."""
        return int(self._torch.state[self._parts[0]]["step"])

    @steps.setter
    def steps(self, count: int) -> None:
        for part in self._parts:
            self._torch.state[part]["step"].fill_(count)

    def step(self, gradient: Float[Tensor, " N"], lr: float, skip: Float[Tensor, ""] | None = None) -> None:
        """Update the parameters, unless `skip` is 1, which the kernel reads on the device."""
        gradients = gradient.split([part.numel() for part in self._parts])
        for part, group, own in zip(self._parts, self._torch.param_groups, gradients, strict=True):
            part.grad, group["lr"] = own, lr
        # As torch.amp.GradScaler does.
        self._torch.found_inf = skip  # type: ignore[attr-defined]
        self._torch.step()

    def forget(self) -> None:
        """Reset to the state before the first step."""
        for moment in self.moments.values():
            moment.zero_()
        self.steps = 0
