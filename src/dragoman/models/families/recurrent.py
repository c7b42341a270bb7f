"""Settings of kind "rnn" → encoder and decoder."""

from __future__ import annotations

from typing import assert_never

from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart
from dragoman.models.decoders.rnn import AttentionalVector, InputFeedingRNNDecoder, PlainRNNDecoder
from dragoman.models.encoders.rnn import BidirectionalRNNEncoder, RNNEncoder
from dragoman.nn.attention.scores import Additive, Multiplicative
from dragoman.nn.bridge import ProjectedBridge
from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.embedding import Matrix, PlainEmbedding
from dragoman.protocols import Decoder, Encoder

CELLS: dict[str, type[LSTMCell | GRUCell]] = {"lstm": LSTMCell, "gru": GRUCell}


def build_encoder(part: RNNEncoderPart, matrix: Matrix) -> Encoder:
    embed = PlainEmbedding(matrix, part.dropout)
    if not part.bidirectional:
        return RNNEncoder(embed, stack(part, part.embedding, part.width), part.dropout)
    sides = [stack(part, part.embedding, 2 * part.width) for _ in range(2)]
    return BidirectionalRNNEncoder(embed, sides[0], sides[1], part.dropout)


def build_decoder(part: RNNDecoderPart, matrix: Matrix, memory: int) -> Decoder:
    fed = part.embedding if part.input_feeding else 0
    decoder = InputFeedingRNNDecoder if part.input_feeding else PlainRNNDecoder
    return decoder(
        PlainEmbedding(matrix, part.dropout),
        stack(part, part.embedding + fed, part.width),
        ProjectedBridge(memory, part.width, part.layers),
        AttentionalVector(score(part, memory), memory, part.width, part.embedding),
        part.dropout,
    )


def score(part: RNNDecoderPart, memory: int) -> Additive | Multiplicative:
    match part.attention:
        case "additive":
            return Additive(part.width, memory, part.width)
        case "multiplicative":
            return Multiplicative(part.width, memory)
        case _:
            assert_never(part.attention)


def stack(part: RNNEncoderPart | RNNDecoderPart, first: int, rest: int) -> list[Cell]:
    """The cells of a stack: the first reads embeddings, the others the layer below."""
    return [CELLS[part.cell](first if layer == 0 else rest, part.width) for layer in range(part.layers)]
