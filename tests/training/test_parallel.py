"""Ranks of torchrun: the losses of one process, the bits of an uninterrupted run, and an end in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.runs import RNN, ROUNDING, SAMPLING, TRANSFORMER, losses, record, settings, start, train

LAYERS_LEFT_OUT = {**TRANSFORMER, "layers": 2, "layer_drop": 0.3}
# The norm of the upper layer gets no gradient: Cho's decoder reads the last states only.
UNUSED_NORM = {"encoder": {**RNN, "norm": True}, "decoder": {**RNN, "form": "cho", "cell": "gru"}}
ADAPTIVE = {"head": {"kind": "adaptive", "cutoffs": [40, 120]}, "tied": "none"}
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "transformer": (TRANSFORMER, {}, {}),
    "layers left out": (LAYERS_LEFT_OUT, {}, {}),
    "scheduled sampling": (RNN, {"objective": SAMPLING}, {}),
    "adaptive head": (RNN, {}, ADAPTIVE),
    "unused norm": (RNN, {}, UNUSED_NORM),
}


def tables_of(words: Path, form: str, **more: Any) -> dict[str, Any]:
    part, training, model = FORMS[form]
    tables = settings(words, part, **training, **more)
    tables["model"] |= model
    if "head" in model:
        tables["text"] = {"kind": "bpe", "size": 320}
    return tables


@pytest.mark.parametrize(
    "form",
    [pytest.param(form, marks=() if form == "unused norm" else pytest.mark.slow) for form in FORMS],
)
def test_two_ranks_have_the_losses_of_one(form: str, words: Path, tmp_path: Path) -> None:
    """With two micro-batches each, whose gradients are added before they are sent."""
    train(tables_of(words, form, micro_batches=4), tmp_path / "one")
    train(tables_of(words, form, micro_batches=2), tmp_path / "two", ranks=2)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=ROUNDING)


@pytest.mark.parametrize(
    ("form", "ranks"),
    [
        ("transformer", 2),
        ("transformer", 3),
        ("layers left out", 3),
        ("scheduled sampling", 3),
        ("unused norm", 2),
    ],
)
@pytest.mark.slow
def test_stopped_and_resumed_equals_uninterrupted(form: str, ranks: int, words: Path, tmp_path: Path) -> None:
    tables = tables_of(words, form)
    train(tables, tmp_path / "whole", ranks)
    for stop in (5, 9, 0):
        train(tables, tmp_path / "stopped", ranks, stop)
    assert record(tmp_path / "stopped") == record(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_may_move_to_another_number_of_ranks(words: Path, tmp_path: Path) -> None:
    tables = tables_of(words, "transformer")
    for ranks, stop in ((1, 3), (3, 7), (1, 0)):
        train(tables, tmp_path / "moved", ranks, stop)
    events = [json.loads(line) for line in (tmp_path / "moved" / "events.jsonl").read_text().splitlines()]
    notes = [note for event in events if event["event"] == "resume" for note in event["notes"]]
    assert [note.partition(":")[0] for note in notes] == ["ranks 1 → 3", "ranks 3 → 1"]
    assert (tmp_path / "moved" / "model").is_dir()


IN_UPDATE_4 = """
import os, signal, time
from dragoman.training.step import Updater

usual = Updater.update

def update(self, batch, step, *more, **named):
    if step == 4 and self.ranks.rank == 1:
        {}
    return usual(self, batch, step, *more, **named)

Updater.update = update
"""
SLOW_PREPARATION = """
import time
from dragoman.training import run

usual = run.build_data

def build_data(*arguments, **named):
    time.sleep(6)
    return usual(*arguments, **named)

run.build_data = build_data
"""


def test_torchrun_names_a_rank_that_was_killed(words: Path, tmp_path: Path) -> None:
    kill = IN_UPDATE_4.format("os.kill(os.getpid(), signal.SIGKILL)")
    done = start(tables_of(words, "transformer"), tmp_path / "run", ranks=2, first=kill)
    root_cause = done.stderr.partition("Root Cause")[2]
    assert done.returncode == 1
    assert re.search(r"rank +: 1 ", root_cause), done.stderr
    assert "Signal 9 (SIGKILL)" in root_cause
    assert "FutureWarning" not in done.stderr


@pytest.mark.slow
def test_a_rank_that_hangs_ends_the_run_within_the_timeout(words: Path, tmp_path: Path) -> None:
    hang = IN_UPDATE_4.format("time.sleep(60)")
    done = start(tables_of(words, "transformer", timeout=3), tmp_path / "run", ranks=2, first=hang)
    assert done.returncode == 1
    assert "Another rank is gone or does not answer" in done.stderr
    assert "rank 0, update 4" in done.stderr
    assert "Then resume: torchrun --nproc-per-node 2 -m dragoman train -o " in done.stderr


@pytest.mark.slow
def test_preparation_may_take_longer_than_the_timeout(words: Path, tmp_path: Path) -> None:
    tables = tables_of(words, "transformer", timeout=3)
    done = start(tables, tmp_path / "run", ranks=2, first=SLOW_PREPARATION)
    assert done.returncode == 0, done.stderr


NO_MEMORY_ON_RANK_1 = """
import os, torch
from dragoman.training.step import ForwardPass

usual = ForwardPass.forward

def forward(self, micro, *more):
    if os.environ["RANK"] == "1" and len(micro.src) > 8:
        raise torch.OutOfMemoryError("CUDA out of memory")
    return usual(self, micro, *more)

ForwardPass.forward = forward
"""


@pytest.mark.slow
def test_all_ranks_take_smaller_parts_if_one_is_out_of_memory(words: Path, tmp_path: Path) -> None:
    done = start(tables_of(words, "transformer"), tmp_path / "run", ranks=2, first=NO_MEMORY_ON_RANK_1)
    assert done.returncode == 0, done.stderr
    settings = (tmp_path / "run" / "settings.toml").read_text(encoding="utf-8")
    assert int(re.search(r"micro_batches = (\d+)", settings)[1]) > 1
