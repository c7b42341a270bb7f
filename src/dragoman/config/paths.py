"""Paths in a settings file are meant from where the file stands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dragoman.config.data import Corpus
from dragoman.config.root import Config

Table = dict[str, Any]


def from_here(table: Table, folder: Path) -> Table:
    """The table of a file in `folder`, with its paths as they are from the working directory."""
    data = table.get("data")
    if not isinstance(data, dict):
        return table
    moved = {key: _join(data[key], folder) for key in ("train", "valid", "test") if key in data}
    return {**table, "data": {**data, **moved}}


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
    """The same settings for a file in `folder`."""

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
    return config.model_copy(update={"data": data.model_copy(update=moved)})
