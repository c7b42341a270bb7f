"""Training on a pretend accelerator: no mix of devices, no waits, the losses of the CPU."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from device import pretend_device as far
from device.kinds import CPU, KINDS, LENGTHS, count_steps, crossed, few
from dragoman import device as devices
from dragoman.config.load import load
from dragoman.config.model import ModelConfig
from dragoman.config.training import TrainingConfig
from dragoman.data import loader
from dragoman.data.loader import GlobalBatch
from dragoman.data.recipes.reverse.generate import splits
from dragoman.metrics.sentence_distance import DISTANCES
from dragoman.models.build import build_model
from dragoman.models.heads.sampled import batch_vocabulary
from dragoman.models.ibm1 import TranslationTable
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import Dropout
from dragoman.protocols import Batch
from dragoman.search import sample as sampling
from dragoman.search.sample import SampleSearch
from dragoman.text.tokenizers.char import Char
from dragoman.training import plan, run
from dragoman.training.build import build_optimizer
from dragoman.training.events import Event, read_events
from dragoman.training.objectives import model_tokens
from dragoman.training.objectives import sampling_decay as decay
from dragoman.training.objectives.attention_losses import Aligner, GuidedAlignmentLoss, coverage_loss
from dragoman.training.objectives.minimum_risk import MinimumRisk
from dragoman.training.objectives.model_tokens import argmax, sampled
from dragoman.training.objectives.scheduled_sampling import StepwiseObjective
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.objectives.two_pass import TwoPassSampling
from dragoman.training.step import Updater
from support.pairs import PAIRS, V, batch_of, model_of, parts_of


def updater(
    model: Seq2Seq, device: torch.device, objective: Objective = teacher_forcing, rate: float = 0.0
) -> Updater:
    for module in model.modules():
        if isinstance(module, Dropout):  # devices draw different numbers
            Dropout.__init__(module, rate)
    model.to(device)
    return Updater(model, build_optimizer(TrainingConfig(), model), seed=1, clip=1.0, objective=objective)


def training_batch() -> Batch:
    batch = batch_of(LENGTHS)
    return batch._replace(tgt_index=batch.tgt_keep.flatten().nonzero().squeeze(1))


def global_batch(batch: Batch) -> GlobalBatch:
    return GlobalBatch(0, first_micro=0, micro=[batch], epoch=0.0)


class Counted(NamedTuple):
    steps: int  # of decoding
    waits: Counter[str]
    copies: Counter[str]


def compare(make: Callable[[], Seq2Seq], objective: Objective = teacher_forcing, updates: int = 2) -> Counted:
    """Compare the losses and gradients of the first updates with those of the CPU."""
    batch, steps = training_batch(), range(1, updates + 1)
    near = updater(make(), CPU, objective)
    expected = [near.update(global_batch(batch), step, 1e-3).get() for step in steps]
    with far.pretend_device() as device:
        model, there = make(), global_batch(batch.to(device))
        decoding = count_steps(model)
        other = updater(model, device, objective)
        far.COPIES.clear()
        far.WAITS.clear()
        pending = [other.update(there, step, 1e-3) for step in steps]
        counted = Counted(decoding.total(), far.WAITS.copy(), far.COPIES.copy())
        found = [one.get() for one in pending]
    assert [one.loss for one in found] == pytest.approx([one.loss for one in expected], rel=1e-5)
    assert [one.norm for one in found] == pytest.approx([one.norm for one in expected], rel=1e-4)
    return counted


@pytest.mark.parametrize("pair", few(PAIRS), ids=str)
def test_an_update_has_the_losses_of_the_cpu_and_no_wait(pair: tuple[str, str]) -> None:
    counted = compare(lambda: model_of(pair), updates=1)
    assert not counted.waits
    assert not counted.copies


PAIR_KEYS = torch.arange(0, V * V, 3).numpy()
TABLE = TranslationTable(PAIR_KEYS, torch.linspace(0.1, 0.9, len(PAIR_KEYS)).numpy())
LETTERS = Char.learn(["abcdefghijklmnopqrs"], V)


def objectives() -> dict[str, Objective]:
    always, half = decay.constant(1.0), decay.constant(0.5)
    aligner = Aligner(TABLE, V)  # it keeps a copy of its table on each device
    guided = GuidedAlignmentLoss(aligner, aligner)
    return {
        "scheduled sampling": StepwiseObjective(half, sampled, [(0.2, coverage_loss)]),
        "two passes": TwoPassSampling(half, argmax),
        "guided alignment": StepwiseObjective(always, sampled, [(0.3, guided)]),
        "minimum risk": MinimumRisk(DISTANCES["cer"](), LETTERS, samples=3, alpha=0.05, after=0, longest=9),
    }


@pytest.fixture
def same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers that are the same on every device."""

    def uniform(count: int, device: torch.device) -> Tensor:
        numbers = torch.rand(count, generator=torch.Generator().manual_seed(count), dtype=torch.float64)
        return numbers if device.type == "cpu" else far.FarTensor(numbers)

    for module in (sampling, model_tokens):
        monkeypatch.setattr(module, "uniform", uniform)


@pytest.mark.parametrize(("name", "pair"), crossed(objectives()))
@pytest.mark.usefixtures("same_numbers")
def test_an_objective_has_the_losses_of_the_cpu(name: str, pair: tuple[str, str]) -> None:
    """Minimum risk needs texts: it reads the references, and each step of its samples."""
    steps, waits, copies = compare(lambda: model_of(pair), objectives()[name])
    if name == "minimum risk":
        assert waits.total() == steps + 2 > 2, waits
    else:
        assert not waits
        assert copies.total() == (2 if name == "guided alignment" else 0), copies  # its table, once


HEADS: dict[str, dict[str, Any]] = {
    "adaptive": {"head": {"kind": "adaptive", "cutoffs": [8, 14], "shrink": 2}, "tied": "none"},
    "sampled": {"head": {"kind": "sampled", "size": V}},  # all words, so that the draw makes no difference
}


@pytest.mark.parametrize(("name", "pair"), crossed(HEADS))
def test_a_head_has_the_losses_of_the_cpu(name: str, pair: tuple[str, str]) -> None:
    """The adaptive softmax waits once per micro-batch: for the number of rows in each cluster."""
    config = ModelConfig.model_validate(parts_of(pair) | HEADS[name])
    _, waits, copies = compare(lambda: build_model(config, V, V, smoothing=0.1, seed=3))
    if name == "adaptive":
        assert waits.total() == 2, waits
    else:
        assert not waits
        assert not copies


@pytest.mark.parametrize("size", [1, 9, 30, 99])
def test_the_vocabulary_of_a_batch_has_its_targets(size: int) -> None:
    y = torch.tensor([5, 4, 4, 39, 5, 0, 17])
    with far.pretend_device() as device:
        words, places = (x.cpu() for x in batch_vocabulary(y.to(device), 40, size))
    assert len(words) == len(words.unique()) == min(max(size, len(y)), 40)
    assert torch.equal(words[places], y)


@pytest.mark.parametrize("name", ["scheduled sampling", pytest.param("two passes", marks=pytest.mark.slow)])
def test_an_update_drops_and_draws_the_same_again(name: str) -> None:
    with far.pretend_device() as device:
        update = updater(model_of(KINDS[0]), device, objectives()[name], rate=0.3)
        batch = global_batch(training_batch().to(device))
        far.WAITS.clear()
        first, second = (update.update(batch, 1, 0.0) for _ in range(2))
        assert not far.WAITS
        assert first.get() == second.get()._replace(clock=first.get().clock)


def test_a_device_may_lack_fp64(monkeypatch: pytest.MonkeyPatch) -> None:
    """As mps does."""
    monkeypatch.setattr(devices, "WITHOUT_FP64", ("far",))
    monkeypatch.setattr(far, "has_fp64", [False])
    with far.pretend_device() as device:
        update = updater(model_of(KINDS[0]), device, objectives()["scheduled sampling"], rate=0.3)
        assert update.update(global_batch(training_batch().to(device)), 1, 0.0).get().loss > 0
        found = SampleSearch(2, 6, top_p=0.8)(
            update.model.eval(), *(x.to(device) for x in batch_of(LENGTHS)[:2])
        )
        assert all(len(row) == 2 for row in found)
        with pytest.raises(TypeError, match="no fp64"):
            torch.zeros(1, device=device).double()


WHOLE: dict[str, dict[str, Any]] = {
    "teacher forcing, greedy": {},
    "sampling, beam": {"objective": {"kind": "scheduled_sampling", "decay": "linear", "coverage": 0.2}},
    "alignment, samples": {"objective": {"kind": "teacher_forcing", "alignment": 0.3}},
    "two passes, groups": {"objective": {"kind": "two_pass_sampling", "decay": "linear"}},
    "minimum risk, coverage": {"objective": {"kind": "minimum_risk", "after": 2, "samples": 2}},
}
SEARCH_OF: dict[str, dict[str, Any]] = {
    "beam": {"size": 2},
    "greedy": {"kind": "greedy"},
    "samples": {"kind": "mbr", "samples": 3},
    "groups": {"size": 4, "groups": 2, "diversity": 0.3},
    "coverage": {"size": 2, "coverage_penalty": 0.2},
}


@pytest.mark.parametrize(
    "name", [name if not n else pytest.param(name, marks=pytest.mark.slow) for n, name in enumerate(WHOLE)]
)
def test_a_whole_run_trains_validates_saves_and_resumes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{src}\t{tgt}\n" for src, tgt in splits()["train"][:150]]
    (tmp_path / "train.tsv").write_text("".join(lines), encoding="utf-8")
    part = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 32, "dropout": 0.1}
    often = {"checkpoint_every": 1, "validate_every": 2, "valid_decode": 2, "updates": 4}
    tables = {
        "data": {"train": [{"files": [str(tmp_path / "train.tsv")]}]},
        "text": {"kind": "char"},
        "model": {"encoder": part, "decoder": part},
        "search": {**SEARCH_OF[name.rpartition(" ")[2]], "max_length": 8},
        "training": {
            **often,
            "batch_tokens": 200,
            "micro_batches": 1,
            "threads": 1,
            "precision": "fp32",
            **WHOLE[name],
        },
    }
    # The pretend device exists in one thread only.
    monkeypatch.setattr(loader, "prefetch", lambda items: (item for item in items))
    monkeypatch.setattr(run, "choose_device", lambda name, where: far.FAR)
    monkeypatch.setattr(plan, "peak_memory", lambda device: 0)
    monkeypatch.setattr(plan, "MOST_TIMED", 2)

    def steps(out: str, stop: int | None = None) -> list[tuple[int, float]]:
        def listen(event: Event) -> None:
            if event["event"] == "step" and event["step"] == stop:
                os.kill(os.getpid(), signal.SIGINT)

        with far.pretend_device():
            run.Run(load(None, base=tables), tmp_path / out, [listen], lambda _: True).train()
        events = read_events(tmp_path / out / "events.jsonl")
        return [(event["step"], event["loss"]) for event in events if event["event"] == "step"]

    whole = steps("whole")
    assert [step for step, _ in whole] == [1, 2, 3, 4]
    assert steps("resumed", stop=2)[-1][0] < 4
    assert steps("resumed") == whole
