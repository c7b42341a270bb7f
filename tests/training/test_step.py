"""One update, seen from outside."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from dragoman.data.collate import collate
from dragoman.data.loader import GlobalBatch
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch, LossSum
from dragoman.training.distributed.ranks import Ranks
from dragoman.training.distributed.recursive_halving import Partition
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters
from dragoman.training.step import Updater

BATCH = collate([([5, 6], [])])  # one target token, </s>, so that sums are means


class Vector(Seq2Seq):
    """A model that is nothing but numbers."""

    def __init__(self, size: int) -> None:
        nn.Module.__init__(self)
        self.x = nn.Parameter(torch.zeros(size))


def stepper(gradient: torch.Tensor, clip: float) -> Updater:
    """An update whose gradient is known."""
    model = Vector(len(gradient))
    flat = FlatParameters(model, torch.float32)
    adam = Adam(flat, slice(0, len(flat)), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, decoupled=True)

    def objective(_: Seq2Seq, batch: Batch, step: int) -> LossSum:
        loss = (model.x * gradient).sum()
        return LossSum(loss, loss.detach())

    return Updater(
        model, flat, adam, Partition(Ranks(), flat.cuts(1)), seed=1, clip=clip, objective=objective
    )


def test_a_rank_without_work_adds_nothing_to_any_number() -> None:
    update = stepper(torch.ones(6), clip=0.0)
    numbers = torch.tensor([0.0, -0.0, 1.5, -1e-45, math.inf, -3.0])
    assert torch.equal(
        (numbers + update._nothing(stop=False)[:6]).view(torch.int32), numbers.view(torch.int32)
    )
    assert update._nothing(stop=True)[-3] == 1.0


def one_batch() -> GlobalBatch:
    return GlobalBatch(0, first_micro=0, micro=[BATCH], epoch=1.0)


@pytest.mark.parametrize("size", [100, 5_000_000, pytest.param(60_000_000, marks=pytest.mark.slow)])
def test_the_norm_of_a_long_gradient_is_exact(size: int) -> None:
    """torch's own is 0.01 % short at 5 million numbers and 0.5 % at 60 million, and clipping goes by it."""
    gradient = torch.randn(size, generator=torch.Generator().manual_seed(3))
    exact = math.sqrt(sum(float(part.double().square().sum()) for part in gradient.split(1 << 20)))
    update = stepper(gradient, clip=1.0)
    updated = update.update(one_batch(), 1, lr=0.1).get()
    assert updated.norm == pytest.approx(exact, rel=1e-6)
    clipped = update.adam.moments["exp_avg"] / (1 - 0.9)  # after one step, the gradient that Adam was given
    length = math.sqrt(sum(float(part.double().square().sum()) for part in clipped.split(1 << 20)))
    assert length == pytest.approx(1.0, rel=2e-6)


def test_the_norm_has_the_same_bits_on_any_number_of_threads() -> None:
    gradient = torch.randn(3_000_001, generator=torch.Generator().manual_seed(3))
    before, norms = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            norms.append(stepper(gradient, clip=0.0).update(one_batch(), 1, lr=0.1).get().norm)
    finally:
        torch.set_num_threads(before)
    assert len(set(norms)) == 1
