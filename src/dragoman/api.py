"""The Python interface: what the verbs `train`, `run` and `score` do, as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.config.load import check_path, merge, nest
from dragoman.config.load import load as load_config
from dragoman.data.readers.build import open_pairs
from dragoman.errors import UsageError
from dragoman.inference.calibrate import calibrate as measure_certainty
from dragoman.inference.model import Model, load
from dragoman.inference.scoring import score
from dragoman.models.bundle import add_calibration
from dragoman.models.calibration import Calibration
from dragoman.training.events import Listener
from dragoman.training.run import Run

__all__ = ["calibrate", "load", "score", "train"]

File = str | Path
Table = dict[str, Any]


def train(
    *data: File,
    out: File | None = None,
    valid: File | Sequence[File] | None = None,
    budget: str | None = None,
    config: File | None = None,
    settings: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
    force: bool = False,
) -> Model:
    """Train on two aligned files, on one .tsv or .jsonl, or on a folder with a dragoman.toml.

    `settings` are named as on the command line: {"model.preset": "rnn-small", "training.updates": 2000}.
    `listener` is called with each event of the run. An unfinished run in `out` is gone on with.
    """
    file, base, home = sources(data, out, config)
    if valid is not None:
        base = merge(base, {"data": {"valid": {"files": names(valid)}}})
    if budget is not None:  # the updates of a settings file give way
        base = merge(base, {"training": {"updates": None, "budget": budget}})
    run = Run(
        load_config(file, base=merge(base, tree(settings or {}))),
        home,
        [listener] if listener else [],
        lambda _: True,
    )
    outcome = run.train(force=force)
    if outcome.reason == "asked":
        raise KeyboardInterrupt(f"saved at update {outcome.step}; the same call goes on from there")
    return load(home)


def calibrate(folder: File, *dev: File) -> Calibration:
    """Learn on a development set how sure the model may be, and write that into its folder."""
    model = load(folder, runtime="torch")
    calibration = measure_certainty(model.translator, list(open_pairs(dev)))
    add_calibration(model.folder, calibration)
    return calibration


def sources(data: Sequence[File], out: File | None, config: File | None) -> tuple[Path | None, Table, Path]:
    """The settings file, what the arguments imply, and the run's folder."""
    if len(data) == 1 and Path(data[0]).is_dir():
        folder = Path(data[0])
        return Path(config or folder / "dragoman.toml"), {}, Path(out or folder)
    if out is None:
        raise UsageError(
            "Where should the model go?",
            where="dragoman.train",
            expected="out=, the folder of the run",
            hint=f'dragoman.train({", ".join(repr(str(file)) for file in data)}, out="my-model")',
        )
    base: Table = {"data": {"train": [{"files": names(data)}]}} if data else {}
    return Path(config) if config else None, base, Path(out)


def names(files: File | Sequence[File]) -> list[str]:
    return [str(files)] if isinstance(files, str | Path) else [str(file) for file in files]


def tree(settings: Mapping[str, Any]) -> Table:
    """{"training.updates": 30} → {"training": {"updates": 30}}, each name known."""
    table: Table = {}
    for name, value in settings.items():
        path = tuple(name.split("."))
        check_path(path, f"{name}={value}")
        table = merge(table, nest(path, value))
    return table
