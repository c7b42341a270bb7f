"""Sources that are files, as frames: arrays (S, F) whose S rows take the place of S tokens."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import assert_never

import numpy as np

from dragoman.config.parts.source import NumberSource, PictureSource, SignalSource, SoundSource
from dragoman.data.signals.columns import ink_columns
from dragoman.data.signals.corpus import FrameArray, Signals
from dragoman.data.signals.log_mel import log_mel
from dragoman.data.signals.numbers import read_numbers
from dragoman.data.signals.picture import read_picture
from dragoman.data.signals.sound import read_sound
from dragoman.data.store.layout import Frames


def build_signals(source: SignalSource) -> Signals:
    """Return how sources of this kind are read."""
    frames = Frames(frame_dtype(source), source.frame_features)
    return Signals(partial(read_frames, source), frames, source.max_frames, source.model_dump_json())


def read_frames(source: SignalSource, file: Path) -> FrameArray:
    """Return the frames of a file, as the token store holds them."""
    match source:
        case PictureSource():
            return ink_columns(read_picture(file), source.height)
        case SoundSource():
            sound = read_sound(file, source.sample_rate)
            return log_mel(sound, source.sample_rate, source.mels).astype(np.float16)
        case NumberSource():
            return read_numbers(file, source.features).astype(np.float16)
        case _:
            assert_never(source)


def frame_dtype(source: SignalSource) -> str:
    return "|u1" if isinstance(source, PictureSource) else "<f2"
