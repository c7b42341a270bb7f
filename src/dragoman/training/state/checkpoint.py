"""Checkpoints: training states on disk, complete or absent, verified by a manifest, resumed bit for bit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dragoman.config.training import TrainingConfig
from dragoman.durable import new_folder, remove_folder
from dragoman.errors import CheckpointError
from dragoman.shapes import Tensor
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters

WEIGHTS, MOMENTS, STATE = "weights.safetensors", "adam.safetensors", "state.json"


@dataclass
class TrainingState:
    """The state of a run, except for its tensors."""

    step: int = 0  # also the number of the loader's next batch
    adam_steps: int = 0
    seconds: float = 0.0  # over all sessions
    best_step: int = 0
    best_value: float | None = None  # of valid_metric, larger is better
    since_best: int = 0  # validations since the best one
    skipped: int = 0  # updates in a row whose gradient was not finite
    regular: list[int] = field(default_factory=list)  # updates of the newest regular checkpoints
    length: dict[str, Any] = field(default_factory=dict)  # the argument of `length.from_json`
    run: dict[str, Any] = field(default_factory=dict)  # what must not change on resume


def save(home: Path, progress: TrainingState, flat: FlatParameters, moments: Mapping[str, Tensor]) -> Path:
    """Save the run. `moments` are those of Adam, of all parameters."""
    folder = folder_of(home, progress.step)

    with new_folder(folder, size=sum(x.nbytes for x in (flat.master, *moments.values()))) as new:
        save_file(copies(flat.views(flat.master)), new / WEIGHTS)
        named = {f"{kind}.{name}": t for kind, m in moments.items() for name, t in flat.views(m).items()}
        save_file(copies(named), new / MOMENTS)
        (new / STATE).write_text(json.dumps(asdict(progress), indent=1) + "\n", encoding="utf-8")
    return folder


def copies(views: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return copies on the CPU, since safetensors writes storages, and views share one."""
    return {name: view.to("cpu", copy=True) for name, view in views.items()}


def checkpoints_of(home: Path) -> list[Path]:
    if not home.is_dir():
        return []
    return sorted(path for path in home.iterdir() if re.fullmatch(r"step-\d{8}", path.name))


def read_state(folder: Path) -> TrainingState:
    body = json.loads((folder / STATE).read_text(encoding="utf-8"))
    body.pop("position", None)  # of format 2: since format 3, an update is one batch of the loader
    unknown = body.keys() - {known.name for known in fields(TrainingState)}
    if unknown:
        raise CheckpointError(
            f"{STATE} has fields that this version of Dragoman does not know: {', '.join(sorted(unknown))}.",
            where=str(folder / STATE),
            expected="a checkpoint of this version or an older one",
            hint="pip install --upgrade dragoman",
        )
    return TrainingState(**body)


def load(folder: Path, progress: TrainingState, flat: FlatParameters, adam: Adam) -> None:
    weights, moments = load_file(folder / WEIGHTS), load_file(folder / MOMENTS)
    for name, view in flat.views(flat.master).items():
        view.copy_(weights[name])
    for kind, moment in adam.moments.items():
        whole = torch.cat([moments[f"{kind}.{name}"].flatten() for name in flat.parameters])
        moment.copy_(whole[adam.mine])
    adam.steps = progress.adam_steps
    flat.publish()


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
    return parameters * 4 * (3 * (max(config.keep, config.average) + others) + 1)


def prune(home: Path, kept: set[int]) -> None:
    """Remove all checkpoints except the newest and those of the updates in `kept`."""
    for folder in checkpoints_of(home)[:-1]:
        if step_of(folder) not in kept:
            remove_folder(folder)
