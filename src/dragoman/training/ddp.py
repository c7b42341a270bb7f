"""Updates by torch's DistributedDataParallel (Li et al. 2020): any number of ranks, and gradients are summed
during the backward pass. torch chooses the order of the sum, so results depend on the number of ranks.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from dragoman.data.loader import GlobalBatch
from dragoman.models.heads.adaptive import AdaptiveHead
from dragoman.nn.dropout import noise
from dragoman.nn.transformer.residual import LayerDrop
from dragoman.protocols import Batch, LossSum, Network
from dragoman.shapes import Float, Tensor
from dragoman.training.distributed.ranks import Ranks
from dragoman.training.objectives.teacher_forcing import Objective
from dragoman.training.step import EXTRA, MARKS, Updater, name_of


class ObjectiveOfModel(nn.Module):
    """The whole forward pass of an update, so that DDP sees where it starts and ends."""

    def __init__(self, model: Network, objective: Objective, seed: int) -> None:
        super().__init__()
        self.model, self.objective, self.seed = model, objective, seed

    def forward(self, micro: Batch, step: int, number: int) -> LossSum:
        with noise(self.seed, step, number):
            return self.objective(self.model, micro, step)


@dataclass(frozen=True)
class DdpUpdater(Updater):
    """Every rank holds the whole sum and runs Adam on all parameters."""

    group: Ranks = field(default_factory=Ranks)

    @property
    def ranks(self) -> Ranks:
        return self.group

    @cached_property
    def wrapped(self) -> DistributedDataParallel:
        """The model in DDP. The first update makes it, when the ranks are connected."""
        return DistributedDataParallel(
            ObjectiveOfModel(self.model, self.objective, self.seed),
            find_unused_parameters=may_leave_out_parameters(self.model),
            gradient_as_bucket_view=True,
            forward_sync_buffers=False,
        )

    def sum_gradients(
        self, batch: GlobalBatch, step: int, stop: bool
    ) -> tuple[Float[Tensor, " P"], Float[Tensor, " E"]]:
        extra = self.flat.master.new_zeros(EXTRA)
        with self.ranks.all_summing(name_of(step)):
            for number, micro in enumerate(batch.micro):
                is_last = number == len(batch.micro) - 1
                with nullcontext() if is_last else self.wrapped.no_sync():
                    sums = self.wrapped(micro, step, batch.first_micro + number)
                    (sums.loss * self.ranks.count).backward()  # DDP divides by the number of ranks
                extra[:4] += torch.stack([x.to(extra) for x in self.counts(sums, micro)])
            extra[-3:] = extra.new_tensor([float(stop), self.clock() * self.ranks.is_first, step % MARKS])
            dist.all_reduce(extra)
        gradient = torch.empty_like(self.flat.master)
        self.flat.take_gradient(gradient)
        return gradient, extra


def may_leave_out_parameters(model: nn.Module) -> bool:
    """Return whether an update may leave out parameters: DDP then searches for them, which takes time."""
    return any(
        isinstance(module, AdaptiveHead) or (isinstance(module, LayerDrop) and module.rate > 0)
        for module in model.modules()
    )
