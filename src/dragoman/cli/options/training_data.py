"""The inputs of `train` on the command line: settings, data files and run folder."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.cli.options.overrides import split_overrides
from dragoman.config.load import parse_override
from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.config.training import IN_UPDATES, seconds
from dragoman.data.readers.arrow import dataset_files
from dragoman.data.readers.open_pairs import corpora_of, form, refuse_mixed
from dragoman.data.recipes.build import RECIPES
from dragoman.errors import DataError, UsageError
from dragoman.manifest import MANIFEST
from dragoman.spelling import missing_file_hint

FILES = "two text files (source, target), or .tsv, .csv, .jsonl, .tmx, .xliff or .po files; each may be .gz"
ORDER = "dragoman train train.en train.de --valid val.en val.de -o en-de"


class TrainInputs(NamedTuple):
    settings: Path | None
    implied: dict[str, Any]  # by the command line; overrides the settings file
    overrides: list[str]
    out: Path


def resolve_inputs(args: argparse.Namespace) -> TrainInputs:
    data, overrides = split_overrides(args.data)
    held = {}
    for option in ("valid", "test"):
        files, more = split_overrides(getattr(args, option) or [])  # they take every name that follows
        overrides += more
        if getattr(args, option) is not None:
            held[option] = {"files": held_files(files, option), **languages_of(args)}
    settings, train, out = resolve_paths(data, args)
    if out.is_file():
        raise UsageError(
            f"{out} is a file, but a run needs a folder.",
            where=f"-o {out}",
            expected="a new folder, or the folder of an earlier run",
            hint=f"-o {out.with_name(f'{out.stem}-model')}",
        )
    implied: dict[str, Any] = {"data": {**train, **held}}
    if args.skip_bad:
        implied["data"]["skip_bad"] = True
    training: dict[str, Any] = {"init_from": args.init_from} if args.init_from else {}
    if args.budget:
        refuse_bad_time(args.budget)
        training |= dict.fromkeys(IN_UPDATES)  # the budget replaces those of a settings file
        overrides.insert(0, f"training.budget={args.budget}")  # one that is typed in full wins
    if training:
        implied["training"] = training
    return TrainInputs(settings, implied, overrides, out)


def refuse_bad_time(budget: str) -> None:
    try:
        seconds(budget)
    except ValueError as error:
        raise UsageError(f"{error}.", where=f"--budget {budget}", hint="--budget 30m") from None


def resolve_paths(data: list[str], args: argparse.Namespace) -> tuple[Path | None, dict[str, Any], Path]:
    """Return the settings file, the training files if they are named, and the run folder."""
    refuse_missing(data)
    refuse_settings(data)
    if len(data) == 1 and (parts := dataset_files(Path(data[0]))) and args.out:
        return args.config, {"train": [{"files": [part], **languages_of(args)} for part in parts]}, args.out
    if len(data) == 1 and os.path.isdir(data[0]):
        folder = Path(data[0])
        return args.config or settings_of(folder), {}, args.out or folder
    if not data and not args.config:
        return settings_to_resume(args.out), {}, args.out
    if args.out is None:
        raise UsageError(
            "No output folder was given.",
            where="the command line",
            expected="-o DIR",
            hint=f"dragoman train {shlex.join(data)}{' ' if data else ''}-o my-model",
        )
    if not data:
        return args.config, {}, args.out
    refuse_many(data)
    if not args.languages:
        refuse_mixed(data)
    train = [{"files": corpus, **languages_of(args)} for corpus in corpora_of(data)]
    return args.config, {"train": train}, args.out


def languages_of(args: argparse.Namespace) -> dict[str, Any]:
    return {"languages": args.languages} if args.languages else {}


def settings_of(folder: Path) -> Path:
    """Return the settings file of a task, or the one that an earlier run wrote."""
    for name in ("dragoman.toml", "settings.toml"):
        if (folder / name).is_file():
            return folder / name
    raise UsageError(
        "This folder has no dragoman.toml.",
        where=str(folder),
        expected="a folder created by dragoman new, or data files",
        hint="Name two files: dragoman train train.src train.tgt -o NAME",
    )


def settings_to_resume(out: Path | None) -> Path:
    if out is not None and (out / "settings.toml").is_file():
        return out / "settings.toml"
    raise UsageError(
        "No training data were given.",
        where="the command line" if out is None else f"{out} contains no run to resume",
        expected=f"{FILES}; or a folder created by dragoman new",
        hint="dragoman train ." if out is None and Path("dragoman.toml").is_file() else ORDER,
    )


def held_files(files: Sequence[str], option: str) -> list[str]:
    if not files or are_many(files):
        raise UsageError(
            f"--{option} takes one or two files, but got {len(files)}.",
            where=f"--{option} {shlex.join(files)}".rstrip(),
            expected=FILES,
            hint=f"It takes every name that follows, so put the training files first: {ORDER}",
        )
    refuse_missing(files)
    return list(files)


def are_many(files: Sequence[str]) -> bool:
    """Return whether there are more files than a corpus has: two, or three of plain text for tagging."""
    return len(files) > 2 and not (len(files) == 3 and all(form(Path(file)) == "plain" for file in files))


def refuse_many(files: Sequence[str]) -> None:
    if any(map(are_many, corpora_of(files))) or any(os.path.isdir(file) for file in files):
        raise UsageError(
            "These files do not form one corpus.",
            where=shlex.join(files),
            expected=f"{FILES}; or one folder",
            hint="Name several corpora in a settings file, [data] train = […]: dragoman train -c FILE -o DIR",
        )


def refuse_settings(files: Sequence[str]) -> None:
    for file in files:
        if Path(file).suffix == ".toml":
            others = [other for other in files if other != file]
            raise UsageError(
                f"{file} is a settings file, not data.",
                where="the command line",
                expected=FILES,
                hint=shlex.join(["dragoman", "train", *others, "-c", file, "-o", "DIR"]),
            )


def refuse_missing(files: Sequence[str]) -> None:
    for file in files:
        if os.path.exists(file):
            continue
        if "=" in file:
            parse_override(file)  # a misspelt setting raises its own error
        if file in RECIPES:
            raise UsageError(
                f"There is no folder {file} yet.",
                where="the command line",
                expected="a folder or data files",
                hint=f"dragoman new {file}, then the same command",
            )
        raise DataError(
            f"There is no such file: {file}",
            where=os.path.abspath(file),
            expected=FILES,
            hint=missing_file_hint(Path(file)),
        )


def is_prepared(config: Config, out: Path) -> bool:
    """Return whether there is a store of each corpus; of sources that are files, the corpus has the paths."""
    stores = (out / "store" / f"corpus-{number}" / MANIFEST for number in range(len(config.data.train)))
    return isinstance(config.data.source, TextSource) and all(store.is_file() for store in stores)


def refuse_moved(config: Config, settings: Path, out: Path) -> None:
    """Refuse a run without its data: it stores their paths relative to itself and may have been moved.

    A complete store takes the place of the training data.
    """
    held = [config.data.valid] if config.data.valid else []
    read = held if is_prepared(config, out) else [*config.data.train, *held]
    files = [file for corpus in read for file in corpus.files]
    gone = next((file for file in files if not os.path.exists(file)), None)
    if gone is None:
        return
    again = "Put it back there, or change [data] in the settings file."
    if len(config.data.train) == 1:
        given = (config.data.train[0].files, config.data.valid.files if config.data.valid else ())
        train, valid = ([f"PATH/{Path(file).name}" for file in files] for files in given)
        names = [*train, *(["--valid", *valid] if valid else [])]
        where = ["-c", str(settings), "-o", str(out)]
        again = f"Name the files where they are now:  {shlex.join(['dragoman', 'train', *names, *where])}"
    raise DataError(
        f"{Path(gone).name} is missing, but this run was started with it.",
        where=os.path.normpath(gone),
        expected="the files that the run was started with; they or the run were moved",
        hint=again,
    )
