"""Build encoder and decoder of kind "conv", and the encoder of kind "kalchbrenner"."""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from dragoman.config.parts.convolution import ConvPart, KalchbrennerPart
from dragoman.models.decoders.conv import ConvDecoder
from dragoman.models.encoders.conv import ConvEncoder
from dragoman.models.encoders.conv_sentence import ConvSentenceEncoder
from dragoman.nn.conv.attention import MultiStepAttention
from dragoman.nn.conv.block import DecoderBlock, EncoderBlock
from dragoman.nn.conv.embedding import STD, PositionalEmbedding
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.conv.sentence_model import SentenceModel
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.embedding import Matrix, PlainEmbedding


def build_encoder(part: ConvPart, matrix: Matrix) -> ConvEncoder:
    blocks = [
        EncoderBlock(
            GatedConvolution(below, width, kernel, (kernel - 1) // 2, part.dropout), carry(below, width)
        )
        for below, width, kernel in sizes(part)
    ]
    return ConvEncoder(embed(part, matrix), enter(part), blocks, leave(part))


def build_sentence_encoder(part: KalchbrennerPart, matrix: Matrix) -> ConvSentenceEncoder:
    return ConvSentenceEncoder(
        PlainEmbedding(matrix, part.dropout), SentenceModel(part.embedding, widest=part.layers + 1)
    )


def build_decoder(part: ConvPart, matrix: Matrix, memory: int) -> ConvDecoder:
    blocks = [
        DecoderBlock(
            GatedConvolution(below, width, kernel, kernel - 1, part.dropout),
            MultiStepAttention(width, part.embedding),
            carry(below, width),
        )
        for below, width, kernel in sizes(part)
    ]
    fit = carry(memory, part.embedding)
    return ConvDecoder(embed(part, matrix), enter(part), blocks, leave(part), fit, part.dropout)


def embed(part: ConvPart, matrix: Matrix) -> PositionalEmbedding:
    if isinstance(matrix, nn.Parameter):
        nn.init.normal_(matrix, std=STD)
    return PositionalEmbedding(matrix, part.max_positions, part.embedding, part.dropout)


def enter(part: ConvPart) -> WeightNormed:
    return WeightNormed(part.embedding, part.widths[0], retain=1.0 - part.dropout)


def leave(part: ConvPart) -> WeightNormed:
    return WeightNormed(part.widths[-1], part.embedding)


def sizes(part: ConvPart) -> list[tuple[int, int, int]]:
    """Return the input width, the output width and the kernel size of each block."""
    steps = pairwise((part.widths[0], *part.widths))
    return [(below, width, kernel) for (below, width), kernel in zip(steps, part.kernels, strict=True)]


def carry(below: int, width: int) -> nn.Module:
    """Return the identity if the widths are equal, else a projection."""
    return nn.Identity() if below == width else WeightNormed(below, width)
