"""Adam and AdamW (Kingma & Ba 2015, Loshchilov & Hutter 2019) on flat parameters, by torch's fused kernel."""

from __future__ import annotations

from functools import partial

import torch
from torch.optim.adam import adam

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
        self._spans = (slice(num_matrix), slice(num_matrix, None))
        self._decays = (weight_decay, 0.0)
        self._parts = [master[span] for span in self._spans]
        self.moments = {name: torch.zeros_like(master) for name in ("exp_avg", "exp_avg_sq")}
        self._steps = [master.new_zeros(()) for _ in self._spans]
        # Not torch.optim.Adam, which imports the compiler of torch: two seconds of every start.
        self._fused = partial(
            adam,
            fused=True,
            amsgrad=False,
            maximize=False,
            beta1=betas[0],
            beta2=betas[1],
            eps=eps,
            decoupled_weight_decay=decoupled,
        )

    @property
    def steps(self) -> int:
        """The number of steps that were applied. On other devices than a CPU, the host waits for it."""
        return int(self._steps[0])

    @steps.setter
    def steps(self, count: int) -> None:
        for step in self._steps:
            step.fill_(count)

    def step(self, gradient: Float[Tensor, " N"], lr: float, skip: Float[Tensor, ""] | None = None) -> None:
        """Update the parameters, unless `skip` is 1, which the kernel reads on the device."""
        for part, span, step, decay in zip(self._parts, self._spans, self._steps, self._decays, strict=True):
            first, second = ([moment[span]] for moment in self.moments.values())
            self._fused(
                [part],
                [gradient[span]],
                first,
                second,
                [],
                [step],
                found_inf=skip,
                lr=lr,
                weight_decay=decay,
            )

    def forget(self) -> None:
        """Reset to the state before the first step."""
        for moment in self.moments.values():
            moment.zero_()
        self.steps = 0
