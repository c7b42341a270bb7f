"""The table of tasks. Each is one file beside this one; `models/builders/network.py` builds its network."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.config.root import Config, TaskName
from dragoman.tasks.classify import Classify
from dragoman.tasks.lm import LanguageModelling
from dragoman.tasks.tag import Tag
from dragoman.tasks.task import Task
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
