"""Train a model that transcribes and score it on the validation and the test list of a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dragoman
from benchmarks.run_log import RunLog
from dragoman.config.search import SearchConfig
from dragoman.metrics.error_rates import cer
from dragoman.tasks.load import TaskModel

SEARCHES = {"best path": SearchConfig(kind="greedy"), "beam 8": SearchConfig(size=8)}


def train_and_score(settings: Path, data: Path, out: Path, more: Sequence[str]) -> dict[str, Any]:
    """Return minutes, parameters, and the character error rates by list and search, in per cent."""
    if not (out / "model").exists():
        files = [str(data / "train.tsv"), "--valid", str(data / "valid.tsv")]
        command = [sys.executable, "-m", "dragoman", "train", *files, "-c", str(settings), "-o", str(out)]
        subprocess.run([*command, "--yes", *more], check=True)
    model, log = dragoman.load(out), RunLog(out)
    assert isinstance(model, TaskModel)
    rates = {}
    for name in ("valid", "test"):
        pairs = list(model.examples.read([str(data / f"{name}.tsv")], None, None))
        for label, search in SEARCHES.items():
            outputs = [answer.text for answer in model([pair.src for pair in pairs], search=search)]
            rates[f"{name}, {label}"] = cer(outputs, [pair.tgt for pair in pairs]).percent
    return {
        "minutes": log.minutes,
        "minutes_undisturbed": log.minutes_undisturbed,
        "updates": len(log.events("step")),
        "parameters": log.parameters,
        "CER": rates,
    }
