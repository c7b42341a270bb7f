"""Training and decoding on a pretend accelerator: no mix of devices, no waits, the results of the CPU."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.load import load
from dragoman.data import loader
from dragoman.data.loader import GlobalBatch
from dragoman.data.recipes.reverse import splits
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.dropout import Dropout
from dragoman.protocols import Batch, State, Step
from dragoman.search.beam import BeamSearch
from dragoman.search.greedy import greedy_search
from dragoman.training import plan, run
from dragoman.training.distributed.ranks import Ranks
from dragoman.training.distributed.recursive_halving import Partition
from dragoman.training.events import Event, read_events
from dragoman.training.objectives import sampling_decay as decay
from dragoman.training.objectives.attention_losses import coverage_loss
from dragoman.training.objectives.model_tokens import argmax, sampled
from dragoman.training.objectives.scheduled_sampling import StepwiseObjective
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.objectives.two_pass import TwoPassSampling
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters
from dragoman.training.step import Updater
from support.pairs import PAIRS, batch_of, model_of
from support.tiny_bundle import tiny

LENGTHS = [(7, 6), (3, 2), (5, 4), (6, 6)]


# Each encoder and each decoder once; all pairs are slow.
SEEN: set[str] = set()
SOME = [
    pair
    if {f"{pair[0]} →", f"→ {pair[1]}"} - SEEN and not SEEN.update({f"{pair[0]} →", f"→ {pair[1]}"})
    else pytest.param(pair, marks=pytest.mark.slow)
    for pair in PAIRS
]


@pytest.fixture
def far() -> Any:
    """The module, imported only here: it registers a device in this process."""
    return importlib.import_module("device.pretend_device")


def updater(
    model: Seq2Seq, device: torch.device, objective: Objective = teacher_forcing, rate: float = 0.0
) -> Updater:
    for module in model.modules():
        if isinstance(module, Dropout):  # devices draw different numbers
            Dropout.__init__(module, rate)
    flat = FlatParameters(model.to(device), torch.float32)
    adam = Adam(flat, slice(0, len(flat)), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, decoupled=True)
    return Updater(model, flat, adam, Partition(Ranks(), flat.cuts(1)), seed=1, clip=1.0, objective=objective)


def with_index(batch: Batch) -> Batch:
    return batch._replace(tgt_index=batch.tgt_keep.flatten().nonzero().squeeze(1))


def global_batch(batch: Batch) -> GlobalBatch:
    return GlobalBatch(0, first_micro=0, micro=[batch], epoch=0.0)


@pytest.mark.parametrize("pair", SOME, ids=str)
def test_an_update_has_the_losses_of_the_cpu_and_no_wait(pair: tuple[str, str], far: Any) -> None:
    batch = with_index(batch_of(LENGTHS))
    near = updater(model_of(pair), torch.device("cpu"))
    expected = [near.update(global_batch(batch), step, 1e-3).get().loss for step in (1, 2)]
    with far.pretend_device() as device:
        there, other = batch.to(device), updater(model_of(pair), device)
        far.COPIES.clear()
        far.WAITS.clear()
        pending = [other.update(global_batch(there), step, 1e-3) for step in (1, 2)]
        assert not far.WAITS
        assert not far.COPIES
        assert [one.get().loss for one in pending] == pytest.approx(expected, rel=1e-5)


SEARCHES: dict[str, Callable[..., Any]] = {
    "greedy": lambda stepper, src, keep: greedy_search(stepper, src, keep, max_length=6),
    "beam": lambda stepper, src, keep: BeamSearch(3, 6)(stepper, src, keep),
}
KINDS = [
    ("transformer", "transformer"),
    ("bilstm", "lstm fed"),
    ("gru", "gru additive fed"),
    ("conv", "conv"),
]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("pair", KINDS, ids=" → ".join)
def test_a_search_gives_the_tokens_of_the_cpu_and_waits_once_per_step(
    pair: tuple[str, str], search: str, far: Any
) -> None:
    batch, steps = batch_of(LENGTHS), []

    class Counting:
        """A stepper that counts its steps."""

        def __init__(self, model: Seq2Seq) -> None:
            self.model, self.start = model, model.start

        def step(self, y: torch.Tensor, state: State) -> Step:
            steps.append(y)
            return self.model.step(y, state)

    @torch.no_grad()
    def tokens(model: Seq2Seq, device: torch.device) -> list[Any]:
        src, keep = batch.src.to(device), batch.src_keep.to(device)
        steps.clear()
        far.COPIES.clear()
        far.WAITS.clear()
        found = SEARCHES[search](Counting(model.to(device).eval()), src, keep)
        return [hypotheses[0].tokens for hypotheses in found]

    expected = tokens(model_of(pair), torch.device("cpu"))
    with far.pretend_device() as device:
        assert tokens(model_of(pair), device) == expected
        waits = far.WAITS.total() + sum(n for line, n in far.COPIES.items() if line.startswith("to the host"))
        assert waits == len(steps), (far.WAITS, far.COPIES)


OBJECTIVES: dict[str, Objective] = {
    "scheduled sampling": StepwiseObjective(decay.constant(0.5), sampled, [(0.2, coverage_loss)]),
    "two passes": TwoPassSampling(decay.constant(0.5), argmax),
}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_and_dropout_do_not_wait(objective: str, far: Any) -> None:
    with far.pretend_device() as device:
        update = updater(model_of(("transformer", "transformer")), device, OBJECTIVES[objective], rate=0.3)
        batch = with_index(batch_of(LENGTHS)).to(device)
        far.COPIES.clear()
        far.WAITS.clear()
        first, second = (update.update(global_batch(batch), 1, 0.0) for _ in range(2))
        assert not far.WAITS
        assert not far.COPIES
        assert first.get() == second.get()._replace(clock=first.get().clock)  # the same noise


OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "details": {"details": True},
    "sample": {"search": {"kind": "sample"}},
    "glossary": {"glossary": {"b c": "d e"}},
    "forbid": {"forbid": ["a"]},
    "prefix": {"prefix": "c d"},
    "groups": {"search": {"groups": 3, "diversity": 0.5, "coverage_penalty": 0.2}},
    "n-grams": {"search": {"no_repeat_ngram": 2, "min_length": 3}},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_the_runtime_writes_what_it_writes_on_a_cpu(options: str, far: Any) -> None:
    given = dict(OPTIONS[options])
    changes, texts = given.pop("search", {}), ["a b c", "d e f g h i", "p"]

    def outputs(device: torch.device) -> list[str]:
        bundle = tiny(**changes)
        bundle.model.to(device)
        return [result.text for result in TorchRuntime(bundle)(texts, **given)]

    expected = outputs(torch.device("cpu"))
    with far.pretend_device() as device:
        assert outputs(device) == expected


def test_a_whole_run_trains_validates_saves_and_resumes(
    far: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{src}\t{tgt}\n" for src, tgt in splits()["train"][:300]]
    (tmp_path / "train.tsv").write_text("".join(lines), encoding="utf-8")
    part = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 32, "dropout": 0.1}
    often = {"checkpoint_every": 3, "validate_every": 4, "valid_decode": 5}
    tables = {
        "data": {"train": [{"files": [str(tmp_path / "train.tsv")]}]},
        "text": {"kind": "char"},
        "model": {"encoder": part, "decoder": part},
        "training": {**often, "batch_tokens": 300, "threads": 1, "precision": "fp32", "updates": 9},
    }
    # The pretend device exists in one thread only.
    monkeypatch.setattr(loader, "prefetch", lambda items: (item for item in items))
    monkeypatch.setattr(run, "choose_device", lambda name, where: far.FAR)
    monkeypatch.setattr(plan, "peak_memory", lambda device: 0)

    def steps(out: str, stop: int | None = None) -> list[tuple[int, float]]:
        def listen(event: Event) -> None:
            if event["event"] == "step" and event["step"] == stop:
                os.kill(os.getpid(), signal.SIGINT)

        with far.pretend_device():
            run.Run(load(None, base=tables), tmp_path / out, [listen], lambda _: True).train()
        events = read_events(tmp_path / out / "events.jsonl")
        return [(event["step"], event["loss"]) for event in events if event["event"] == "step"]

    whole = steps("whole")
    assert [step for step, _ in whole] == list(range(1, 10))
    assert steps("resumed", stop=5)[-1][0] < 9
    assert steps("resumed") == whole
