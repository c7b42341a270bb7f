"""Averaging of checkpoints, and which of them stay on disk."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file

from dragoman.models.folder import WEIGHTS
from dragoman.training.state.checkpoint import average, checkpoints_of, folder_of, prune, step_of


def write_checkpoint(home: Path, step: int, *values: float) -> Path:
    folder = folder_of(home, step)
    folder.mkdir(parents=True)
    save_file({"w": torch.tensor(values)}, folder / WEIGHTS)
    (folder / "MANIFEST.json").write_text("{}", encoding="utf-8")
    return folder


def test_the_average_is_the_mean_of_the_last_weights_and_the_checkpoints(tmp_path: Path) -> None:
    folders = [write_checkpoint(tmp_path, 1, 1.0, 2.0), write_checkpoint(tmp_path, 2, 4.0, -2.0)]
    mean = average({"w": torch.tensor([1.0, 3.0])}, folders)
    assert mean["w"].tolist() == [2.0, 1.0]
    assert mean["w"].dtype == torch.float32


def test_the_average_is_summed_in_double_precision(tmp_path: Path) -> None:
    """In fp32, 2²⁴ + 1 is 2²⁴: a small last term would be lost."""
    folders = [write_checkpoint(tmp_path, 1, 2.0**24), write_checkpoint(tmp_path, 2, -(2.0**24))]
    assert average({"w": torch.tensor([3.0])}, folders)["w"].tolist() == [1.0]


def test_pruning_keeps_the_newest_and_those_that_are_needed(tmp_path: Path) -> None:
    for step in (10, 20, 30, 40):
        write_checkpoint(tmp_path, step, 0.0)
    prune(tmp_path, {20})
    assert [step_of(folder) for folder in checkpoints_of(tmp_path)] == [20, 40]
