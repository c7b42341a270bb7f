"""The commands that are suggested for a trained model: its input depends on what the model reads."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.config.root import Config


def to_run(config: Config, model: str, input: str = "") -> str:
    """Return the command that runs a model on an input, or on a placeholder of its kind."""
    source = config.data.source
    option = ["--continue"] if config.model.encoder.kind == "none" else []
    shown = input or ("TEXT" if source.kind == "text" else f"FILE{source.suffixes[0]}")
    return shlex.join(["dragoman", "run", model, *option, shown])


def to_score(config: Config, model: str) -> str:
    """Return the command that scores a model on the test files of its settings, or on placeholders."""
    return shlex.join(["dragoman", "score", model, *files_to_score(config)])


def files_to_score(config: Config) -> Sequence[str]:
    if config.data.test:
        return [os.path.normpath(file) for file in config.data.test.files]
    if not config.data.train:
        return ["TEST.tsv"]
    return [f"TEST{Path(file.removesuffix('.gz')).suffix}" for file in config.data.train[0].files]
