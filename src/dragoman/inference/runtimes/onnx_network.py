"""ONNX Runtime for networks without a decoder, and for the texts that a language model scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.cores import threads
from dragoman.inference.array_network import Arrays
from dragoman.inference.runtimes.onnx import CPU, session
from dragoman.inference.runtimes.onnx_file import NETWORK, SCORE, read_network, read_score
from dragoman.manifest import Read


class OnnxNetwork:
    """The network of an ONNX directory. `read` reads its files; `entries` is the target vocabulary."""

    def __init__(
        self,
        folder: Path,
        task: str,
        entries: int,
        *,
        read: Read = Path.read_bytes,
        providers: Sequence[Any] = (CPU,),
    ) -> None:
        self.names, graph = read_network(folder, read, task, entries)
        self.session = session(graph, folder / NETWORK, threads(0), providers)

    def __call__(self, src: NDArray[Any], keep: NDArray[np.bool_]) -> Arrays:
        outputs = self.session.run(self.names, {"src": src, "keep": keep})
        return dict(zip(self.names, outputs, strict=True))


class OnnxTokenLogP:
    """log p(y_t | y_<t) of a language model."""

    def __init__(
        self, folder: Path, *, read: Read = Path.read_bytes, providers: Sequence[Any] = (CPU,)
    ) -> None:
        self.session = session(read_score(folder, read), folder / SCORE, threads(0), providers)

    def __call__(self, before: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float32]:
        log_p: NDArray[np.float32] = self.session.run(["log_p"], {"before": before, "y": y})[0]
        return log_p
