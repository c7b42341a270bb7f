"""Build the head from [model.head]."""

from __future__ import annotations

from typing import assert_never

from torch import nn

from dragoman.config.model import ModelConfig
from dragoman.config.parts.head import (
    AdaptiveHeadPart,
    FrameHeadPart,
    SampledHeadPart,
    SoftmaxHeadPart,
    StateHeadPart,
)
from dragoman.errors import ConfigError
from dragoman.models.heads.adaptive import AdaptiveHead
from dragoman.models.heads.sampled import SampledHead
from dragoman.models.heads.token import TokenHead
from dragoman.nn.embedding import Matrix, embedding_matrix
from dragoman.protocols import Head


def build_head(config: ModelConfig, words: int, tgt_matrix: Matrix, smoothing: float) -> Head:
    part, features = config.head, config.decoder.features
    if isinstance(part, AdaptiveHeadPart):
        refuse_empty_clusters(part, words)
        return AdaptiveHead(features, words, part.cutoffs, part.shrink, smoothing)
    if config.tied != "none" and isinstance(tgt_matrix, nn.Parameter):
        W = tgt_matrix
    else:
        W = embedding_matrix(words, features)
    match part:
        case SoftmaxHeadPart() | FrameHeadPart():
            return TokenHead(W, smoothing)
        case SampledHeadPart():
            return SampledHead(W, part.size, smoothing)
        case StateHeadPart():
            raise AssertionError(f"{part.kind} heads read no decoder")
        case _:
            assert_never(part)


def refuse_empty_clusters(part: AdaptiveHeadPart, words: int) -> None:
    """Raise ConfigError if the vocabulary turned out too small for the cutoffs."""
    if part.cutoffs[-1] >= words:
        raise ConfigError(
            f"model.head.cutoffs reaches {part.cutoffs[-1]}, and the target vocabulary has {words} entries.",
            where="model.head.cutoffs",
            expected=f"numbers below {words}",
            hint="Set smaller cutoffs, or model.head.kind=softmax.",
        )
