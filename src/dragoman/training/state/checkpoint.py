"""Checkpoints: training states on disk, complete or absent, verified by a manifest, resumed bit for bit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dragoman.config.training import TrainingConfig
from dragoman.durable import new_folder, remove_folder
from dragoman.errors import CheckpointError
from dragoman.shapes import Tensor

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"

FORMAT = 4  # of the state and the files beside it
FEWEST_KEPT = 2  # regular checkpoints: the newest may be damaged


@dataclass
class TrainingState:
    """The state of a run, except for its tensors."""

    step: int = 0  # also the number of the loader's next batch
    seconds: float = 0.0  # over all sessions
    best_step: int = 0
    best_value: float | None = None  # of valid_metric, larger is better
    since_best: int = 0  # validations since the best one
    skipped: int = 0  # updates in a row whose gradient was not finite
    regular: list[int] = field(default_factory=list)  # updates of the newest regular checkpoints
    length: dict[str, Any] = field(default_factory=dict)  # the argument of `length.from_json`
    run: dict[str, Any] = field(default_factory=dict)  # what must not change on resume


def save(
    home: Path, progress: TrainingState, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor]
) -> Path:
    """Save the run: its weights and the state of the optimizer, each by name."""
    folder = folder_of(home, progress.step)
    with new_folder(folder, size=sum(x.nbytes for x in (*weights.values(), *optimizer.values()))) as new:
        save_file({name: tensor.cpu() for name, tensor in weights.items()}, new / WEIGHTS)
        save_file({name: tensor.cpu() for name, tensor in optimizer.items()}, new / OPTIMIZER)
        (new / STATE).write_text(json.dumps(asdict(progress), indent=1) + "\n", encoding="utf-8")
    return folder


def checkpoints_of(home: Path) -> list[Path]:
    if not home.is_dir():
        return []
    return sorted(path for path in home.iterdir() if re.fullmatch(r"step-\d{8}", path.name))


def read_state(folder: Path) -> TrainingState:
    body = json.loads((folder / STATE).read_text(encoding="utf-8"))
    if body["run"]["format"] != FORMAT:
        raise CheckpointError(
            "Another version of Dragoman started this run "
            f"({body['run'].get('dragoman', 'unknown')}, format {body['run']['format']}, not {FORMAT}).",
            where=str(folder),
            expected="a run of this version",
            hint="Resume it with the version that started it, or start over with --force.",
        )
    return TrainingState(**body)


def optimizer_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / OPTIMIZER)


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / WEIGHTS)


def average(last: dict[str, torch.Tensor], folders: list[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of the last weights and those of the checkpoints in `folders`, summed in fp64."""
    total = {name: tensor.double() for name, tensor in last.items()}
    for folder in folders:
        for name, tensor in weights_of(folder).items():
            total[name] += tensor
    return {name: (tensor / (1 + len(folders))).float() for name, tensor in total.items()}


def folder_of(home: Path, step: int) -> Path:
    return home / f"step-{step:08d}"


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def largest(parameters: int, config: TrainingConfig) -> int:
    """Return the bytes of the checkpoints that `prune` keeps, the one being written, and the model."""
    others = 3  # the best one, the newest one if it is not regular, and the next one
    return parameters * 4 * (3 * (max(FEWEST_KEPT, config.average) + others) + 1)


def prune(home: Path, kept: set[int]) -> None:
    """Remove all checkpoints except the newest and those of the updates in `kept`."""
    for folder in checkpoints_of(home)[:-1]:
        if step_of(folder) not in kept:
            remove_folder(folder)
