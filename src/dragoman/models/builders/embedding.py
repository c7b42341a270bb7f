"""Build the embedding matrices from [model.src_embedding] and [model.tgt_embedding]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import torch
from torch.nn.utils.rnn import pad_sequence

from dragoman.config.parts.embedding import (
    CharacterEmbeddingPart,
    FramePart,
    PooledConvolutionsPart,
    ProjectionPart,
    SpelledEmbeddingPart,
    StridedConvolutionsPart,
    TableEmbeddingPart,
)
from dragoman.nn.characters import CharacterCNN, SpelledWords, SpellingCNN
from dragoman.nn.conv.frames import (
    FrameConvolutions,
    FrameProjection,
    PooledConvolution,
    StridedConvolution,
    convolutions,
)
from dragoman.nn.embedding import Matrix, embedding_matrix
from dragoman.text.specials import UNK
from dragoman.text.tokenizers.spelled import ALPHABET

Spelling = Sequence[Sequence[int]]  # the characters of each vocabulary entry


def build_embedding(
    part: TableEmbeddingPart | CharacterEmbeddingPart | SpelledEmbeddingPart,
    entries: int,
    size: int,
    spelling: Spelling,
) -> Matrix:
    match part:
        case TableEmbeddingPart():
            return embedding_matrix(entries, size)
        case SpelledEmbeddingPart():
            spell = SpellingCNN(ALPHABET, part.features, part.widths, part.filters, part.highways, size)
            return SpelledWords(embedding_matrix(entries, size), spell, UNK, part.word_dropout)
        case CharacterEmbeddingPart():
            table = pad_sequence([torch.tensor(s, dtype=torch.int32) for s in spelling], batch_first=True)
            return CharacterCNN(table, part.features, part.widths, part.filters, part.highways, size)
        case _:
            assert_never(part)


def build_frames(part: FramePart, features: int, size: int) -> FrameConvolutions | FrameProjection:
    """Return what makes vectors of frames, which have this many features."""
    match part:
        case PooledConvolutionsPart():
            layers = convolutions(PooledConvolution, part.channels, part.halvings)
            return FrameConvolutions(layers, features, size)
        case StridedConvolutionsPart():
            layers = convolutions(StridedConvolution, part.channels, part.halvings)
            return FrameConvolutions(layers, features, size)
        case ProjectionPart():
            return FrameProjection(features, size)
        case _:
            assert_never(part)
