"""Resuming an unfinished run as if it had never stopped, and lengthening a finished one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from pydantic_core import to_jsonable_python

from dragoman.config.dump import leaves
from dragoman.config.objective import MinimumRiskPart
from dragoman.config.root import Config
from dragoman.config.section import Section
from dragoman.config.training import TrainingConfig, seconds
from dragoman.data.identity import Identity, from_json
from dragoman.durable import verify_folder
from dragoman.errors import CheckpointError, UsageError
from dragoman.training.init_from import other_initial_weights
from dragoman.training.length import Length, TimeBudget, UpdateCount
from dragoman.training.length import from_json as from_length
from dragoman.training.milestones import is_out_of_patience
from dragoman.training.parallel import Ranks
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.step import Updater

# Settings that may change on resume: they determine what is saved and measured, not what is learned.
MAY_CHANGE_ON_RESUME = {
    "init_from",  # the path; see `other_initial_weights`
    "average",
    "patience",
    "validate_every",
    "checkpoint_every",
    "valid_metric",
    "valid_decode",
    "report",
    "threads",
    "timeout",
}
VERSIONS = ("threads", "torch", "dragoman")  # a change may affect rounding, nothing else

Facts = dict[str, Any]


def facts(config: Config, ranks: Ranks, updates: int, data: Identity) -> Facts:
    """Return what determines every bit of the result of a run."""
    return {
        "format": checkpoint.FORMAT,
        "updates": updates,
        "budget": config.training.budget,
        "threads": torch.get_num_threads(),
        "ranks": ranks.count,
        "torch": torch.__version__,
        "dragoman": version("dragoman"),
        "settings": settings(config),
        "best_by": best_by(config),
        "data": data.to_json(),
    }


def settings(config: Config) -> Facts:
    training = config.training.model_dump(mode="json", exclude={*MAY_CHANGE_ON_RESUME, "updates", "budget"})
    data: Facts = {
        "max_length": config.longest_side,
        "clean": config.data.clean,
        "skip_bad": config.data.skip_bad,
    }
    if not config.data.valid:
        data["hold_out"] = config.data.hold_out
    risk = isinstance(config.training.objective, MinimumRiskPart)
    # Vocabulary files are left out: their content is part of the data's identity.
    tables = {
        "training": training,
        "text": config.text.model_dump(mode="json", exclude={"file": True, "src": {"file"}, "tgt": {"file"}}),
        "model": config.model.model_dump(mode="json", exclude={"why"}),
        "data": data,
        "search": {"max_length": config.search.max_length} if risk else {},
    }
    return {".".join(path): value for path, value in leaves(tables)}


def best_by(config: Config) -> Facts:
    """Return the settings that decide which weights are best: with others, values are not comparable."""
    training = config.training
    if training.valid_metric == "loss" or not training.valid_decode:
        return {"training.valid_metric": "loss"}
    search = {f"search.{name}": value for name, value in config.search.model_dump(mode="json").items()}
    measured = {
        "training.valid_metric": training.valid_metric,
        "training.valid_decode": training.valid_decode,
    }
    return {**measured, **search}


def defaults(section: Section, path: tuple[str, ...] = ()) -> Facts:
    out: Facts = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            out |= defaults(value, (*path, name))
        elif not field.is_required():
            out[".".join((*path, name))] = to_jsonable_python(field.get_default(call_default_factory=True))
    return out


@dataclass(frozen=True)
class UnfinishedRun:
    """An unfinished run: its newest intact checkpoint, and notes for the user."""

    folder: Path
    progress: TrainingState
    notes: list[str]

    @property
    def data(self) -> Identity:
        """The data it was started with."""
        return from_json(self.progress.run["data"])


def find(home: Path, ranks: Ranks) -> UnfinishedRun | None:
    """Return the run whose checkpoints are in `home`, or None. The first rank finds the newest one."""
    result = ranks.from_first("the newest checkpoint", lambda: newest(home))
    if result is None:
        return None
    folder = home / result[0]
    return UnfinishedRun(folder, checkpoint.read_state(folder), result[1:])


def newest(home: Path) -> list[str] | None:
    """Return the name of the newest intact checkpoint, and notes on damaged ones that were skipped."""
    faults: list[tuple[str, str]] = []
    for folder in reversed(checkpoint.checkpoints_of(home)):
        fault = verify_folder(folder)
        if fault is None:
            return [folder.name, *(f"{name} is damaged and was skipped: {what}." for name, what in faults)]
        faults.append((folder.name, fault))
    if faults:
        raise CheckpointError(
            f"No checkpoint of this run is intact. The newest: {faults[0][1]}.",
            where=str(home / faults[0][0]),
            expected="a checkpoint as training wrote it",
            hint="Restore one from a backup, or start over with --force.",
        )
    return None


def refuse_other_settings(begun: UnfinishedRun, config: Config) -> None:
    was, usual = begun.progress.run, defaults(config)
    changed = []
    for name, value in settings(config).items():
        before = was["settings"].get(name, usual.get(name))  # the default if the setting is newer
        if before != value:
            changed.append(f"{name} was {before!r}, is {value!r}")
    if other_initial_weights(config.training, was.get("init_from")):
        changed.append(f"the model that it starts from (training.init_from {config.training.init_from})")
    updates = config.training.updates or was["updates"]
    if updates != was["updates"]:
        changed.append(f"training.updates was {was['updates']}, is {updates}")
    if changed:
        raise UsageError(
            f"This unfinished run was started with different settings: {'; '.join(changed[:3])}.",
            where=str(begun.folder),
            expected="the same settings, so that it resumes as if it had never stopped",
            hint="Restore them to resume, choose another folder with -o, or start over with --force.",
        )


def resume(
    begun: UnfinishedRun, config: Config, stepper: Updater, data: Identity
) -> tuple[TrainingState, list[str]]:
    """Load the checkpoint. Return its state, and notes on changes that are allowed."""
    try:
        stepper.load(checkpoint.weights_of(begun.folder), checkpoint.optimizer_of(begun.folder))
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(
            f"The checkpoint does not fit the model: {error}.",
            where=str(begun.folder),
            expected="the data and settings that the run was started with",
            hint="Start over with --force.",
        ) from None
    was = begun.progress.run
    now = facts(config, stepper.ranks, was["updates"], data) | {
        name: was.get(name) for name in ("budget", "init_from", "precision")
    }
    progress, notes = replace(begun.progress, run=now), [*begun.notes, *changes(was, now)]
    if (budget := config.training.budget) and budget != was.get("budget", budget):
        notes.append(rebudget(progress, budget))
    if other := other_measures(was, now, config):
        progress = replace(progress, best_step=0, best_value=None, since_best=0)
        notes.append(f"{', '.join(other)}: the selection of the best weights starts over.")
    return progress, notes


def other_measures(was: Facts, now: Facts, config: Config) -> list[str]:
    before = {**defaults(config), **(was.get("best_by") or now["best_by"])}
    return [
        f"{name} {before[name]} → {value}" for name, value in now["best_by"].items() if before[name] != value
    ]


def changes(was: Facts, now: Facts) -> list[str]:
    """Return notes on what has changed and is not refused."""
    notes = []
    if was["ranks"] != now["ranks"]:
        change = f"ranks {was['ranks']} → {now['ranks']}"
        notes.append(f"{change}: from here on, the data are read in another order, and rounding differs.")
    versions = [
        f"{name} {was[name]} → {now[name]}" for name in VERSIONS if was.get(name, now[name]) != now[name]
    ]
    if versions:
        notes.append(f"{', '.join(versions)}: from here on, rounding may differ from an uninterrupted run.")
    return notes


def rebudget(progress: TrainingState, budget: str) -> str:
    """Change the budget of a run, if it has one, and return a note."""
    was, length = progress.run, length_of(progress)
    if not isinstance(length, TimeBudget):
        return f"The budget of {budget} is not used: {was['updates']:,} updates were planned at the start."
    length.lengthen(seconds(budget) - seconds(was["budget"]))
    progress.length = length.to_json()
    note = f"The budget was {was['budget']} and is now {budget}."
    was["budget"] = budget
    return note


def length_of(progress: TrainingState) -> Length:
    """Return the length of a run. Older versions of Dragoman saved only a number of updates."""
    return from_length(progress.length) if progress.length else UpdateCount(int(progress.run["updates"]))


def is_over(progress: TrainingState, config: TrainingConfig) -> bool:
    return is_out_of_patience(progress, config) or length_of(progress).is_over(
        progress.step, progress.seconds
    )


def is_being_extended(progress: TrainingState, config: TrainingConfig) -> bool:
    """Return whether an extension was interrupted: the same request then resumes it."""
    return bool(length_of(progress).more) and not is_over(progress, config)


def lengthened(progress: TrainingState, more: str, clock: float) -> Length:
    """Return a length from here on, with its own schedule: a warm restart (Loshchilov & Hutter 2017)."""
    if more.isdecimal():
        return UpdateCount(progress.step + int(more), progress.step, more)
    each = progress.seconds / max(1, progress.step)
    return TimeBudget.plan(clock, clock + seconds(more), each, progress.seconds, more)


def refuse_request(
    out: Path, begun: UnfinishedRun | None, config: TrainingConfig, more: str | None, finish: bool
) -> None:
    """Raise UsageError if the request does not fit the state of the run's folder."""
    name, has_model = shlex.quote(str(out)), (out / "model").exists()
    if more and not more.isdecimal():
        try:
            seconds(more)
        except ValueError as error:
            raise UsageError(
                f"{error}, or a number of updates.", where=f"--more {more}", hint="--more 1h"
            ) from None
    if begun is None and (more or finish):
        what = "are no checkpoints here any more" if has_model else "is no run here yet"
        raise UsageError(
            f"There {what}.",
            where=str(out / "checkpoints"),
            expected="the folder of a run",
            hint=f"Start one: dragoman train DATA -o {name}",
        )
    if begun and more and not has_model:
        raise UsageError(
            f"This run is not finished: it is at update {begun.progress.step:,}.",
            where=str(out),
            expected="a finished run to lengthen",
            hint=f"dragoman train -o {name} resumes it; --finish saves a model of what it has learned.",
        )
    if has_model and not more and (begun is None or is_over(begun.progress, config)):
        raise UsageError(
            "This run is finished.",
            where=str(out / "model"),
            expected="a new folder, or an unfinished run to resume",
            hint=(
                f"dragoman run {name} uses it; --more 1h continues training; --force starts over, also "
                "with other settings or data; -o OTHER trains in another folder."
            ),
        )
