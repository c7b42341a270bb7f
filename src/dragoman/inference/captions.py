"""Captions: texts about pictures, sounds or series of numbers, by an encoder and a decoder with attention."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.config.search import SearchConfig
from dragoman.inference.result import Result
from dragoman.inference.runtimes.runtime import parts
from dragoman.inference.runtimes.torch import TorchRuntime

FLAGS = (
    "truncated",
    "repetition",
    "low_confidence",
)  # the others compare an output with the text of its source


class CaptionRuntime:
    """A runtime that reads files, as a model that is called with their paths."""

    def __init__(self, runtime: TorchRuntime) -> None:
        self.runtime = runtime
        self.search = runtime.search

    def __call__(
        self,
        files: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        forbid: Sequence[str] = (),
    ) -> list[Result]:
        """Return one result per file, in order."""
        return [
            result._replace(flags=tuple(flag for flag in result.flags if flag in FLAGS))
            for part in parts(files)
            for result in self.runtime(part, search, details=details, forbid=forbid)
        ]
