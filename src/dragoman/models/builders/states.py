"""Build taggers and classifiers: networks that read the states of an encoder, without a decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import torch

from dragoman.config.model import ModelConfig
from dragoman.config.parts.head import CRFHeadPart, LabelHeadPart, WordHeadPart
from dragoman.config.parts.pooling import LastPoolingPart, MaxPoolingPart, MeanPoolingPart, QueryPoolingPart
from dragoman.errors import DataError
from dragoman.models.classifier import Classifier, LabelHead, Pooling
from dragoman.models.heads.tags import CRFTags, SoftmaxTags, TagHead
from dragoman.models.heads.token import TokenHead
from dragoman.models.tagger import JointTagger, Tagger
from dragoman.nn.attention.pooling import LearnedQuery, MaxPooling, MeanPooling
from dragoman.nn.attention.scores import Additive, ScaledDot
from dragoman.nn.crf import iob_forbidden
from dragoman.nn.embedding import embedding_matrix
from dragoman.protocols import Encoder
from dragoman.shapes import Bool, Tensor
from dragoman.text.specials import SPECIALS

LABEL = "@"  # begins the label of a line, before its tags


def build_heads(
    config: ModelConfig, encoder: Encoder, entries: Sequence[str], smoothing: float
) -> Tagger | JointTagger | Classifier:
    """Return the network of a head that reads states. `entries` are those of the target vocabulary."""
    is_label = [entry.startswith(LABEL) and len(entry) > 1 for entry in entries[len(SPECIALS) :]]
    is_empty = [not entry for entry in entries[len(SPECIALS) :]]
    special, labels, empty = (torch.tensor(mask) for mask in ([True] * len(SPECIALS), is_label, is_empty))
    part = config.head
    if isinstance(part, LabelHeadPart):
        never = torch.cat((special, torch.zeros_like(labels)))
        return Classifier(encoder, build_label_head(config, never, smoothing))
    assert isinstance(part, WordHeadPart)
    is_joint = part.label
    if is_joint and not labels.any():
        raise DataError(
            "model.head.label is set, but no target line begins with @ and a label.",
            expected="a third file with a label for each line, or lines such as: @PlayMusic O B-artist",
            hint="Leave model.head.label out, or name three files: words, tags and labels.",
        )
    tags = build_tag_head(config, torch.cat((special, (labels & is_joint) | empty)), entries, smoothing)
    if not is_joint:
        return Tagger(encoder, tags)
    return JointTagger(encoder, tags, build_label_head(config, torch.cat((special, ~labels)), smoothing))


def build_tag_head(
    config: ModelConfig, never: Bool[Tensor, " V"], entries: Sequence[str], smoothing: float
) -> TagHead:
    part, features = config.head, config.encoder.memory_features
    if not isinstance(part, CRFHeadPart):
        return SoftmaxTags(TokenHead(embedding_matrix(len(entries), features), smoothing), never)
    head = CRFTags(features, len(entries), never)
    if part.constraints:
        head.crf.forbid(*iob_forbidden(entries))
    return head


def build_label_head(config: ModelConfig, never: Bool[Tensor, " V"], smoothing: float) -> LabelHead:
    pooling, features = build_pooling(config), config.encoder.summary_features
    return LabelHead(pooling, TokenHead(embedding_matrix(len(never), features), smoothing), never)


def build_pooling(config: ModelConfig) -> Pooling | None:
    part, features = config.pooling, config.encoder.memory_features
    match part:
        case QueryPoolingPart():
            score = Additive(features, features, features) if part.score == "additive" else ScaledDot()
            return LearnedQuery(score, features)
        case MeanPoolingPart():
            return MeanPooling()
        case MaxPoolingPart():
            return MaxPooling()
        case LastPoolingPart():
            return None
        case _:
            assert_never(part)
