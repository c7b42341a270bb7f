"""The parts of the engine, each against its definition."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from dragoman.training.distributed.tree_sum import tree_sum
from dragoman.training.events import Events, rewind
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters
from dragoman.training.optim.learning_rate import (
    constant,
    cosine,
    inverse_sqrt,
    linear,
    warmup_stable_decay,
)


def parts_of(count: int) -> list[torch.Tensor]:
    draw = np.random.default_rng(count)
    return [
        torch.from_numpy(draw.normal(size=100).astype(np.float32) * 10.0 ** draw.integers(-4, 4))
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_branches_on_ranks_sum_to_the_bits_of_the_whole_tree(count: int, ranks: int) -> None:
    if ranks > count:
        pytest.skip("a rank needs a part")
    whole = tree_sum(iter(parts_of(count)))
    share = count // ranks
    branches = [tree_sum(iter(parts_of(count)[r * share : (r + 1) * share])) for r in range(ranks)]
    while len(branches) > 1:  # what partners do, level by level
        branches = [a + b for a, b in zip(branches[::2], branches[1::2], strict=True)]
    assert torch.equal(branches[0], whole)


def test_the_order_of_a_sum_does_matter() -> None:
    """Else the test above would say nothing."""
    plain = parts_of(16)[0].clone()
    for part in parts_of(16)[1:]:
        plain += part
    assert not torch.equal(plain, tree_sum(iter(parts_of(16))))


def test_schedules_by_hand() -> None:
    assert inverse_sqrt(1.0, 100)(50.0) == 0.5
    assert inverse_sqrt(1.0, 100)(100.0) == 1.0
    assert inverse_sqrt(1.0, 100)(400.0) == 0.5
    assert cosine(2.0, 10, 110)(5.0) == 1.0
    assert cosine(2.0, 10, 110)(60.0) == pytest.approx(1.0)
    assert cosine(2.0, 10, 110)(110.0) == pytest.approx(0.0)
    assert linear(1.0, 0, 100)(25.0) == 0.75
    assert warmup_stable_decay(2.0, 10, 110)(5.0) == 1.0
    assert warmup_stable_decay(2.0, 10, 110)(80.0) == pytest.approx(2.0)
    assert warmup_stable_decay(2.0, 10, 110)(95.0) == pytest.approx(1.0)
    assert warmup_stable_decay(2.0, 10, 110)(110.0) == 0.0
    assert constant(3.0, 4)(2.0) == 1.5
    assert constant(3.0, 0)(1.0) == 3.0


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


@pytest.mark.parametrize(("decoupled", "kind"), [(True, torch.optim.AdamW), (False, torch.optim.Adam)])
def test_flat_adam_equals_torch_for_a_hundred_steps(
    decoupled: bool, kind: type[torch.optim.Optimizer]
) -> None:
    ours, theirs = small_model(), small_model()
    flat = FlatParameters(ours, torch.float32)
    adam = Adam(flat, slice(0, len(flat)), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1, decoupled=decoupled)
    matrices = [p for p in theirs.parameters() if p.ndim > 1]
    vectors = [p for p in theirs.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    reference = kind(groups, lr=1e-2, betas=(0.9, 0.98), eps=1e-9)
    for step in range(100):
        x = torch.randn(4, 5, generator=torch.Generator().manual_seed(step))
        for model in (ours, theirs):
            model(x).square().sum().backward()
        gradient = torch.empty(len(flat))
        flat.take_gradient(gradient)
        adam.step(gradient, 1e-2)
        reference.step()
        reference.zero_grad()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_bf16_model_computes_with_rounded_master_weights() -> None:
    model = small_model()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    flat = FlatParameters(model, torch.bfloat16)
    for name, view in flat.views(flat.master).items():
        assert torch.equal(view, before[name])
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name].bfloat16())
    flat.master += 1.0
    flat.publish()
    for name, p in model.named_parameters():
        assert torch.equal(p, (before[name] + 1.0).bfloat16())


def test_gradient_of_an_unused_parameter_is_zero() -> None:
    model = small_model()
    flat = FlatParameters(model, torch.float32)
    model[0](torch.ones(1, 5)).sum().backward()
    gradient = torch.full((len(flat),), math.nan)
    flat.take_gradient(gradient)
    assert bool((flat.views(gradient)["2.weight"] == 0).all())
    assert bool((flat.views(gradient)["0.bias"] == 1).all())


def test_events_after_the_checkpoint_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    events = Events(file, [])
    for step in range(1, 6):
        events.emit({"event": "step", "step": step})
    events.close()
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"event": "step", "st')  # killed while writing
    rewind(file, 3)
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    assert [event["step"] for event in kept] == [1, 2, 3]


def test_an_event_is_strict_json_even_where_a_loss_is_not_a_number(tmp_path: Path) -> None:
    events = Events(tmp_path / "events.jsonl", [])
    events.emit({"event": "step", "step": 1, "loss": math.nan, "norm": math.inf, "lr": 0.5})
    events.close()
    line = (tmp_path / "events.jsonl").read_text(encoding="utf-8")
    assert json.loads(line, parse_constant=pytest.fail) == {
        "event": "step",
        "step": 1,
        "loss": None,
        "norm": None,
        "lr": 0.5,
    }
