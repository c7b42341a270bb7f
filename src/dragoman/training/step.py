"""One update: forward, backward, sum over micro-batches and ranks, clip, optimise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from dragoman.data.loader import GlobalBatch
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, LossSum
from dragoman.shapes import Float, Tensor
from dragoman.training.accumulate import norm_in_chunks, tree_sum
from dragoman.training.flat import FlatParameters
from dragoman.training.objectives.objective import Objective, teacher_forcing
from dragoman.training.optim import Adam
from dragoman.training.parallel import Ranks

EXTRA = 3  # behind the gradient in one flat tensor: Σ loss, Σ nll, and how many ranks want to stop


class Updated(NamedTuple):
    loss: float  # per target token, smoothed
    nll: float  # per target token
    norm: float  # of the gradient, before clipping
    applied: bool  # False where the gradient was not finite: the weights are as before
    stop: bool  # a rank was asked to stop


@dataclass(frozen=True)
class Stepper:
    """Everything an update needs that stays the same over a run."""

    model: Seq2Seq
    flat: FlatParameters
    adam: Adam
    ranks: Ranks
    seed: int
    clip: float
    objective: Objective = teacher_forcing

    def update(self, batch: GlobalBatch, step: int, lr: float, stop: bool = False) -> Updated:
        self.model.train()
        total = self.ranks.sum(tree_sum(self._parts(batch, step, stop)))
        gradient = total[: len(self.flat)]
        loss, nll, stops = total[len(self.flat) :].tolist()
        norm = norm_in_chunks(gradient)
        applied = math.isfinite(norm) and math.isfinite(loss)
        if applied:
            if self.clip and norm > self.clip:
                gradient.mul_(self.clip / norm)
            self.adam.step(gradient, lr)
            self.flat.publish()
        return Updated(loss / batch.tokens, nll / batch.tokens, norm, applied, stops > 0)

    def _parts(self, batch: GlobalBatch, step: int, stop: bool) -> Iterator[Float[Tensor, " Q"]]:
        """Gradient and sums of each micro-batch of this rank."""
        for number, micro in enumerate(batch.micro, start=batch.first_micro):
            part = torch.empty(len(self.flat) + EXTRA)
            part[len(self.flat) :] = torch.tensor([0.0, 0.0, float(stop)])
            if micro is not None:
                sums = self._backward(micro, batch.tokens, step, number)
                part[len(self.flat) : -1] = torch.stack((sums.loss.detach(), sums.nll))
            self.flat.take_gradient(part)
            yield part

    def _backward(self, micro: Batch, tokens: int, step: int, number: int) -> LossSum:
        with noise(self.seed, step, number):
            sums = self.objective(self.model, micro, step)
        (sums.loss / tokens).backward()
        return sums
