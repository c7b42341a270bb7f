"""Build encoders of kind "dense" and "multi-kernel"."""

from __future__ import annotations

from dragoman.config.parts.sentence import DensePart, MultiKernelPart
from dragoman.models.encoders.sentence import DeepAveragingEncoder, MultiKernelEncoder
from dragoman.nn.embedding import Matrix, PlainEmbedding


def build_dense(part: DensePart, matrix: Matrix) -> DeepAveragingEncoder:
    sizes = (part.embedding, *(part.width for _ in range(part.layers)))
    return DeepAveragingEncoder(PlainEmbedding(matrix, part.dropout), sizes, part.dropout, part.word_dropout)


def build_multi_kernel(part: MultiKernelPart, matrix: Matrix) -> MultiKernelEncoder:
    embed = PlainEmbedding(matrix, part.dropout)
    return MultiKernelEncoder(embed, part.embedding, part.kernels, part.filters, part.dropout)
