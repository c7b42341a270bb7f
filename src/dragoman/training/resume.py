"""Going on with an unfinished run as if it had never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from dragoman.config.root import Config
from dragoman.errors import CheckpointError, UsageError
from dragoman.training import checkpoint
from dragoman.training.checkpoint import Progress
from dragoman.training.parallel import Ranks
from dragoman.training.step import Stepper

FORMAT = 1
# What may change on the way: it decides what is kept and measured, not what is learned.
FREE = {
    "keep",
    "average",
    "patience",
    "validate_every",
    "checkpoint_every",
    "valid_metric",
    "valid_decode",
    "threads",
    "timeout",
}


def facts(config: Config, ranks: Ranks, updates: int) -> dict[str, Any]:
    """What decides every bit of a run."""
    training = config.training.model_dump(mode="json", exclude={*FREE, "updates", "budget"})
    training["micro_batches"] = config.training.micro_batches or ranks.count
    settings = {"training": training, **config.model_dump(mode="json", include={"text", "model"})}
    return {
        "format": FORMAT,
        "updates": updates,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "settings": {".".join(path): value for path, value in leaves(settings)},
    }


def leaves(table: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    out = []
    for key, value in table.items():
        out += leaves(value, (*path, key)) if isinstance(value, dict) else [((*path, key), value)]
    return out


def resume(home: Path, config: Config, stepper: Stepper) -> Progress:
    """The newest whole checkpoint, loaded; or a fresh start where there is none."""
    name = stepper.ranks.from_first("the newest checkpoint", lambda: name_of(checkpoint.newest(home)))
    if name is None:
        return Progress()
    folder = home / name
    progress = checkpoint.read_progress(folder)
    refuse_other_settings(progress, config, stepper.ranks, folder)
    try:
        checkpoint.load(folder, progress, stepper.flat, stepper.adam)
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(
            f"The checkpoint does not fit the model: {error}.",
            where=str(folder),
            expected="the data and settings that the run was started with",
            hint="Start over with --force.",
        ) from None
    return progress


def name_of(folder: Path | None) -> str | None:
    return folder.name if folder else None


def refuse_other_settings(progress: Progress, config: Config, ranks: Ranks, folder: Path) -> None:
    was = progress.run
    now = facts(config, ranks, config.training.updates or was["updates"])
    changed = [
        f"{name} was {was['settings'].get(name)!r}, is {value!r}"
        for name, value in now["settings"].items()
        if was["settings"].get(name) != value
    ]
    if now["updates"] != was["updates"]:
        changed.append(f"training.updates was {was['updates']}, is {now['updates']}")
    if changed:
        raise UsageError(
            f"This unfinished run was started with other settings: {'; '.join(changed[:3])}.",
            where=str(folder),
            expected="the same settings, so that it goes on as if it had never stopped",
            hint="Set them back to go on, take another -o, or start over with --force.",
        )
