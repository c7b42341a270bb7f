"""What an example of each task is. Preparing data imports this, and not torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from dragoman.config.parts.embedding import FramePart
from dragoman.config.parts.head import FrameHeadPart
from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config, TaskName
from dragoman.data.examples import Examples, Files, Lines, RunningText
from dragoman.data.readers.tagged import read_labelled, read_labelled_words, read_tagged
from dragoman.data.signals.build import build_signals
from dragoman.losses.ctc_frames import FrameCount
from dragoman.text.running_words import one_label, words_of

# The labels of a target, of the tasks that have some.
LABELS_OF: dict[TaskName, Callable[[str], list[str]]] = {"tag": words_of, "classify": one_label}


def build_examples(config: Config) -> Examples:
    source = config.data_of_run.source
    if not isinstance(source, TextSource):
        return Files(signals=build_signals(source), frames=frame_count(config))
    match config.task:
        case "transcribe":
            return Examples(frames=frame_count(config))
        case "translate":
            return Examples()
        case "tag":
            return Examples(read_tagged, None, "tags", "tags")
        case "classify":
            read = read_labelled_words if reads_words(config) else read_labelled
            return Examples(read, None, "labels", "labels")
        case "lm":
            return RunningText(size=config.data.block_size) if config.data.block_size else Lines()
        case _:
            assert_never(config.task)


def reads_words(config: Config) -> bool:
    """Return whether a line is read as words, whatever separates them; other units keep spaces."""
    return config.text.src_units.kind in ("word", "spelled")


def frame_count(config: Config) -> FrameCount | None:
    """Return how many frames CTC makes from a source; None for other heads."""
    head, encoder, embedding = config.model.head, config.model.encoder, config.model.src_embedding
    if not isinstance(head, FrameHeadPart):
        return None
    if isinstance(embedding, FramePart):
        return FrameCount(embedding.shortening, head.split, ends=0)
    return FrameCount(split=head.split, ends=int(encoder.reads_end))
