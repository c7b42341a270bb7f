"""How the inputs of a model become what its network reads: texts become ids, and files frames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.data.signals.build import build_signals
from dragoman.data.signals.corpus import FrameArray, Signals
from dragoman.inference.runtimes.runtime import ReadSources
from dragoman.text.tokenizer_pair import TokenizerPair


def build_reader(config: Config, text: TokenizerPair) -> ReadSources:
    """Return how inputs, which are texts or names of files, become rows. That of an empty input is empty."""
    source = config.data.source
    return text.read if isinstance(source, TextSource) else partial(read_files, build_signals(source))


def read_files(signals: Signals, files: Sequence[str]) -> list[FrameArray]:
    nothing = np.zeros((0, signals.frames.features), signals.frames.dtype)
    return [signals.read_file(Path(file)) if file else nothing for file in files]
