"""What an example of each task is. Preparing data imports this, and not torch."""

from __future__ import annotations

from typing import assert_never

from dragoman.config.parts.head import FrameHeadPart
from dragoman.config.parts.source import TextSource
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.root import Config
from dragoman.data.examples import Examples, Files, Lines, RunningText
from dragoman.data.fitting import FittingExamples
from dragoman.data.signals.build import build_signals
from dragoman.losses.ctc_frames import FrameCount


def build_examples(config: Config) -> Examples:
    source = config.data_of_run.source
    if not isinstance(source, TextSource):
        return Files(signals=build_signals(source))
    match config.task:
        case "transcribe":
            return FittingExamples(frames=frame_count(config))
        case "translate" | "tag" | "classify":
            return Examples()
        case "lm":
            return RunningText(size=config.data.block_size) if config.data.block_size else Lines()
        case _:
            assert_never(config.task)


def frame_count(config: Config) -> FrameCount:
    head, encoder = config.model.head, config.model.encoder
    split = head.split if isinstance(head, FrameHeadPart) else 1
    ends = not isinstance(encoder, TransformerPart) or encoder.reads_end
    return FrameCount(split=split, ends=int(ends))
