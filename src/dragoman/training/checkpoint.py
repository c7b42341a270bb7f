"""A training state on disk: whole or absent, found by its manifest, resumed to the bit."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dragoman.durable import verify_folder, write_folder
from dragoman.training.flat import FlatParameters
from dragoman.training.optim import Adam

WEIGHTS, MOMENTS, STATE = "weights.safetensors", "adam.safetensors", "state.json"


@dataclass
class Progress:
    """Everything besides tensors that a run must remember."""

    step: int = 0
    position: int = 0  # examples consumed: the loader's whole state
    adam_steps: int = 0
    seconds: float = 0.0  # spent training, over all sittings
    best_step: int = 0
    best_value: float | None = None  # of valid_metric, larger is better
    since_best: int = 0  # validations
    skipped: int = 0  # updates in a row whose gradient was not finite
    run: dict[str, Any] = field(default_factory=dict)  # what must not change on resume


def save(home: Path, progress: Progress, flat: FlatParameters, adam: Adam) -> Path:
    folder = home / f"step-{progress.step:08d}"

    def fill(new: Path) -> None:
        save_file(copies(flat.views(flat.master)), new / WEIGHTS)
        moments = {
            f"{kind}.{name}": t for kind, m in adam.moments.items() for name, t in flat.views(m).items()
        }
        save_file(copies(moments), new / MOMENTS)
        (new / STATE).write_text(json.dumps(asdict(progress), indent=1) + "\n", encoding="utf-8")

    write_folder(folder, fill)
    return folder


def copies(views: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """safetensors writes storages, and views share one."""
    return {name: view.clone() for name, view in views.items()}


def newest(home: Path) -> Path | None:
    """The newest whole checkpoint; a damaged one is passed over."""
    return next((folder for folder in reversed(all_of(home)) if verify_folder(folder) is None), None)


def all_of(home: Path) -> list[Path]:
    if not home.is_dir():
        return []
    return sorted(path for path in home.iterdir() if re.fullmatch(r"step-\d{8}", path.name))


def read_progress(folder: Path) -> Progress:
    return Progress(**json.loads((folder / STATE).read_text(encoding="utf-8")))


def load(folder: Path, progress: Progress, flat: FlatParameters, adam: Adam) -> None:
    weights, moments = load_file(folder / WEIGHTS), load_file(folder / MOMENTS)
    for name, view in flat.views(flat.master).items():
        view.copy_(weights[name])
    for kind, flat_moment in adam.moments.items():
        for name, view in flat.views(flat_moment).items():
            view.copy_(moments[f"{kind}.{name}"])
    adam.steps = progress.adam_steps
    flat.publish()


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / WEIGHTS)


def average(folders: list[Path]) -> dict[str, torch.Tensor]:
    """The mean of the weights of several checkpoints, summed in fp64."""
    total = {name: tensor.double() for name, tensor in weights_of(folders[0]).items()}
    for folder in folders[1:]:
        for name, tensor in weights_of(folder).items():
            total[name] += tensor
    return {name: (tensor / len(folders)).float() for name, tensor in total.items()}


def prune(home: Path, newest_kept: int, best_step: int) -> None:
    """Forget old checkpoints, but never the best one."""
    folders = all_of(home)
    for folder in folders[:-newest_kept]:
        if folder.name != f"step-{best_step:08d}":
            shutil.rmtree(folder, ignore_errors=True)
