"""How rows of the token store become a batch of each task, in training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import assert_never

import numpy as np
import torch

from dragoman.config.root import Config
from dragoman.data.collate import Collate, IdPair, collate, collate_blocks
from dragoman.data.padding import pad
from dragoman.protocols import Batch
from dragoman.tasks.lines import pad_lines
from dragoman.text.specials import PAD


def build_collate(config: Config) -> Collate:
    match config.task:
        case "translate" | "transcribe":
            return collate
        case "tag" | "classify":
            return partial(collate_words, config)
        case "lm":
            return partial(collate_targets, collate_blocks if config.data.block_size else collate)
        case _:
            assert_never(config.task)


def collate_words(config: Config, rows: Sequence[IdPair]) -> Batch:
    """Return a batch whose targets are y₁ … y_n, without </s>."""
    src, src_keep = pad_lines(config, [src for src, _ in rows])
    y, keep = pad([tgt for _, tgt in rows])
    keep = keep[:, 1:]
    y = np.where(keep, y[:, :-1], PAD)
    return Batch(*(torch.from_numpy(x) for x in (src, src_keep, y, y, keep.copy(), np.flatnonzero(keep))))


def collate_targets(collate: Collate, rows: Sequence[IdPair]) -> Batch:
    """Return a batch without sources."""
    return collate([((), tgt) for _, tgt in rows])
