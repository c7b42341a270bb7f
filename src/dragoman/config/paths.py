"""Relative paths in settings files, which are relative to the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from dragoman.config.data import Corpus
from dragoman.config.root import Config
from dragoman.config.text import Units

Table = dict[str, Any]
U = TypeVar("U", bound=Units)


def from_here(table: Table, folder: Path) -> Table:
    """Return the table of a settings file in `folder` with its paths relative to the working directory."""
    data, text, training = table.get("data"), table.get("text"), table.get("training")
    if isinstance(data, dict):
        moved = {key: _join(data[key], folder) for key in ("train", "valid", "test") if key in data}
        table = {**table, "data": {**data, **moved}}
    if isinstance(text, dict):
        table = {**table, "text": _with_file(text, folder)}
    if isinstance(training, dict) and "init_from" in training:
        table = {**table, "training": {**training, "init_from": _join(training["init_from"], folder)}}
    return table


def _with_file(text: Table, folder: Path) -> Table:
    """Resolve the SentencePiece files in `text`, both the shared one and those of each side."""
    parts = {side: part for side in ("src", "tgt") if isinstance(part := text.get(side), dict)}
    sides = {side: _with_file(part, folder) for side, part in parts.items()}
    file = {"file": _join(text["file"], folder)} if "file" in text else {}
    return {**text, **sides, **file}


def _join(value: Any, folder: Path) -> Any:
    match value:
        case str():
            return os.path.join(folder, value)
        case list():
            return [_join(item, folder) for item in value]
        case {"files": files, **rest}:
            return {"files": _join(files, folder), **rest}
    return value


def from_folder(config: Config, folder: Path) -> Config:
    """Return the settings with paths relative to `folder`."""

    def move(corpus: Corpus) -> Corpus:
        return corpus.model_copy(
            update={"files": tuple(os.path.relpath(file, folder) for file in corpus.files)}
        )

    data = config.data
    moved = {
        "train": tuple(move(corpus) for corpus in data.train),
        "valid": move(data.valid) if data.valid else None,
        "test": move(data.test) if data.test else None,
    }
    text, training = _moved(config.text, folder), config.training
    if training.init_from:
        training = training.model_copy(update={"init_from": os.path.relpath(training.init_from, folder)})
    data = data.model_copy(update=moved)
    return config.model_copy(update={"data": data, "text": text, "training": training})


def _moved(units: U, folder: Path) -> U:
    sides = {side: _moved(part, folder) for side in ("src", "tgt") if (part := getattr(units, side, None))}
    file = {"file": os.path.relpath(units.file, folder)} if units.file else {}
    return units.model_copy(update={**sides, **file})
