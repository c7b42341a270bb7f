"""Settings of [model.head] → head."""

from __future__ import annotations

from typing import assert_never

from torch import nn

from dragoman.config.model import ModelConfig
from dragoman.config.parts.head import AdaptiveHeadPart, SampledHeadPart, SoftmaxHeadPart
from dragoman.errors import ConfigError
from dragoman.models.heads.adaptive import AdaptiveHead
from dragoman.models.heads.sampled import SampledHead
from dragoman.models.heads.token import TokenHead
from dragoman.nn.embedding import embedding_matrix
from dragoman.protocols import Head


def build_head(config: ModelConfig, tgt_matrix: nn.Parameter, smoothing: float) -> Head:
    part, words, features = config.head, tgt_matrix.shape[0], config.decoder.features
    if isinstance(part, AdaptiveHeadPart):
        refuse_empty_clusters(part, words)
        return AdaptiveHead(features, words, part.cutoffs, part.shrink, smoothing)
    W = embedding_matrix(words, features) if config.tied == "none" else tgt_matrix
    match part:
        case SoftmaxHeadPart():
            return TokenHead(W, smoothing)
        case SampledHeadPart():
            return SampledHead(W, part.size, smoothing)
        case _:
            assert_never(part)


def refuse_empty_clusters(part: AdaptiveHeadPart, words: int) -> None:
    """A vocabulary may turn out smaller than the settings allow."""
    if part.cutoffs[-1] >= words:
        raise ConfigError(
            f"model.head.cutoffs reaches {part.cutoffs[-1]}, and the target vocabulary has {words} entries.",
            where="model.head.cutoffs",
            expected=f"numbers below {words}",
            hint="Give smaller cutoffs, or model.head.kind=softmax.",
        )
