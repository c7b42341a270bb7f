"""What an example of each task is. Preparing data imports this, and not torch."""

from __future__ import annotations

from typing import assert_never

from dragoman.config.root import Config
from dragoman.data.examples import Examples, Lines, RunningText


def build_examples(config: Config) -> Examples:
    match config.task:
        case "translate" | "transcribe" | "tag" | "classify":
            return Examples()
        case "lm":
            return RunningText(size=config.data.block_size) if config.data.block_size else Lines()
        case _:
            assert_never(config.task)
