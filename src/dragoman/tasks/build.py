"""The table of tasks. Each is one file beside this one; `models/builders/network.py` builds its network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from dragoman.config.root import Config, TaskName
from dragoman.device import choose_device
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.models.bundle import load_bundle
from dragoman.tasks.classify import Classify
from dragoman.tasks.lm import LanguageModelling
from dragoman.tasks.tag import Tag
from dragoman.tasks.task import Answerer, Task
from dragoman.tasks.transcribe import Transcribe
from dragoman.tasks.translate import Translate

TASKS: dict[TaskName, Callable[[Config], Task]] = {
    "translate": Translate,
    "transcribe": Transcribe,
    "lm": LanguageModelling,
    "tag": Tag,
    "classify": Classify,
}


def build_task(config: Config) -> Task:
    return TASKS[config.task](config)


def open_answerer(folder: Path, device: str, lm: Path | None = None) -> tuple[Task, Answerer]:
    """Return the task of a model folder, and its model, ready to answer; `lm` is fused into its search."""
    bundle = load_bundle(folder)
    bundle.model.to(choose_device(device, "device"))
    task = build_task(bundle.config)
    answerer = task.answerer(bundle)
    if lm is not None:
        cast(CTCRuntime, answerer).fuse(load_bundle(lm))
    return task, answerer
