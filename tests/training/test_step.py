"""One update, seen from outside."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from dragoman.config.training import TrainingConfig
from dragoman.data.collate import collate
from dragoman.data.loader import GlobalBatch
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import Dropout
from dragoman.protocols import Batch, LossSum
from dragoman.training.build import build_optimizer
from dragoman.training.step import Updater
from support.pairs import model_of

BATCH = collate([([5, 6], [])])  # one target token, </s>, so that sums are means


class Vector(Seq2Seq):
    """A model that is nothing but numbers."""

    def __init__(self, size: int) -> None:
        nn.Module.__init__(self)
        self.x = nn.Parameter(torch.zeros(size))


def updater(gradient: torch.Tensor, **training: float) -> Updater:
    """An update whose gradient is known."""
    model = Vector(len(gradient))

    def objective(_: Seq2Seq, batch: Batch, step: int) -> LossSum:
        loss = (model.x * gradient).sum()
        return LossSum(loss, loss.detach())

    config = TrainingConfig.model_validate(training)
    return Updater(model, build_optimizer(config, model), seed=1, clip=config.clip, objective=objective)


def one_batch() -> GlobalBatch:
    return GlobalBatch(0, first_micro=0, micro=[BATCH], epoch=1.0)


def test_a_long_gradient_is_clipped_to_its_norm() -> None:
    gradient = torch.tensor([3.0, -4.0])
    update = updater(gradient, clip=1.0)
    assert update.update(one_batch(), 1, lr=0.1).get().norm == pytest.approx(5.0)
    clipped = update.optimizer_state()["exp_avg.x"] / (1 - 0.9)  # after one step, what Adam was given
    assert clipped.tolist() == pytest.approx([0.6, -0.8], rel=1e-5)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_update_whose_gradient_is_not_finite_changes_nothing(bad: float) -> None:
    update = updater(torch.ones(3))
    update.update(one_batch(), 1, lr=0.1)
    before = {name: x.clone() for name, x in {**update.weights(), **update.optimizer_state()}.items()}
    hurt = updater(torch.tensor([1.0, bad, 1.0]))
    hurt.load(update.weights(), update.optimizer_state())
    assert not hurt.update(one_batch(), 2, lr=0.1).get().applied
    after = {**hurt.weights(), **hurt.optimizer_state()}
    assert all(torch.equal(after[name], x) for name, x in before.items())


def test_matrices_decay_and_vectors_do_not_and_what_is_frozen_stays() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].weight.requires_grad_(False)
    optimizer = build_optimizer(TrainingConfig(weight_decay=0.5), model)
    decays = {
        name: group["weight_decay"] for group in optimizer.param_groups for name in group["param_names"]
    }
    assert decays == {"0.bias": 0.0, "1.weight": 0.5, "1.bias": 0.0}


def test_parts_of_a_batch_add_up_to_the_batch() -> None:
    """Two micro-batches, of one and of three target tokens, by their mean over all four."""
    parts = [collate([([5, 6], [])]), collate([([5], [7, 8])])]
    norms = []
    for micro in (parts, [collate([([5, 6], []), ([5], [7, 8])])]):
        model = model_of(("gru", "lstm fed"))
        update = Updater(model, build_optimizer(TrainingConfig(), model), seed=1, clip=0.0)
        for module in model.modules():
            if isinstance(module, Dropout):
                module.rate = 0.0
        norms.append(update.update(GlobalBatch(0, first_micro=0, micro=micro, epoch=1.0), 1, lr=0.1).get())
    assert norms[0].tokens == norms[1].tokens == 4
    assert norms[0].loss == pytest.approx(norms[1].loss, rel=1e-5)
    assert norms[0].norm == pytest.approx(norms[1].norm, rel=1e-5)
