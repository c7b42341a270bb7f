"""ModelConfig → Seq2Seq: the one place where settings become parts."""

from __future__ import annotations

from typing import assert_never

import torch
from torch import nn

from dragoman.config.model import ModelConfig, RNNDecoderPart, RNNEncoderPart, TransformerPart
from dragoman.models.decoders.rnn import AttentionalVector, InputFeedingRNNDecoder, PlainRNNDecoder
from dragoman.models.decoders.transformer import TransformerDecoder
from dragoman.models.encoders.rnn import BidirectionalRNNEncoder, RNNEncoder
from dragoman.models.encoders.transformer import TransformerEncoder
from dragoman.models.heads.token import TokenHead
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.attention.multihead import CrossAttention, SelfAttention
from dragoman.nn.attention.scores import Additive, Multiplicative
from dragoman.nn.bridge import ProjectedBridge
from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.embedding import PlainEmbedding, PositionedEmbedding, embedding_matrix
from dragoman.nn.position import Learned, Sinusoidal
from dragoman.nn.transformer.decoder_layer import DecoderLayer
from dragoman.nn.transformer.encoder_layer import EncoderLayer
from dragoman.nn.transformer.feedforward import FeedForward, GELUFeedForward
from dragoman.nn.transformer.residual import PostNorm, PreNorm
from dragoman.protocols import Decoder, Encoder

CELLS: dict[str, type[LSTMCell | GRUCell]] = {"lstm": LSTMCell, "gru": GRUCell}
POSITIONS: dict[str, type[Sinusoidal] | type[Learned]] = {"sinusoidal": Sinusoidal, "learned": Learned}
RESIDUALS: dict[str, type[PreNorm] | type[PostNorm]] = {"pre": PreNorm, "post": PostNorm}
FEED_FORWARDS: dict[str, type[FeedForward] | type[GELUFeedForward]] = {
    "relu": FeedForward,
    "gelu": GELUFeedForward,
}


def build_model(config: ModelConfig, src_size: int, tgt_size: int, *, smoothing: float, seed: int) -> Seq2Seq:
    """Fresh weights that follow from the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        tgt_matrix = embedding_matrix(tgt_size, embedding_size(config.decoder))
        src_matrix = (
            tgt_matrix if config.tied == "all" else embedding_matrix(src_size, embedding_size(config.encoder))
        )
        encoder = build_encoder(config.encoder, src_matrix)
        decoder = build_decoder(config.decoder, tgt_matrix, memory_size(config.encoder))
        output = (
            tgt_matrix
            if config.tied != "none"
            else embedding_matrix(tgt_size, embedding_size(config.decoder))
        )
        return Seq2Seq(encoder, decoder, TokenHead(output, smoothing))


def embedding_size(part: TransformerPart | RNNEncoderPart | RNNDecoderPart) -> int:
    return part.width if isinstance(part, TransformerPart) else part.embedding


def memory_size(part: TransformerPart | RNNEncoderPart) -> int:
    return part.width * 2 if isinstance(part, RNNEncoderPart) and part.bidirectional else part.width


def build_encoder(part: TransformerPart | RNNEncoderPart, matrix: nn.Parameter) -> Encoder:
    match part:
        case TransformerPart():
            return TransformerEncoder(
                positioned(part, matrix), [encoder_layer(part) for _ in range(part.layers)], last_norm(part)
            )
        case RNNEncoderPart():
            embed = PlainEmbedding(matrix, part.dropout)
            if not part.bidirectional:
                return RNNEncoder(embed, stack(part, part.embedding, part.width), part.dropout)
            sides = [stack(part, part.embedding, 2 * part.width) for _ in range(2)]
            return BidirectionalRNNEncoder(embed, sides[0], sides[1], part.dropout)
        case _:
            assert_never(part)


def build_decoder(part: TransformerPart | RNNDecoderPart, matrix: nn.Parameter, memory: int) -> Decoder:
    match part:
        case TransformerPart():
            return TransformerDecoder(
                positioned(part, matrix),
                [decoder_layer(part, memory) for _ in range(part.layers)],
                last_norm(part),
            )
        case RNNDecoderPart():
            fed = part.embedding if part.input_feeding else 0
            decoder = InputFeedingRNNDecoder if part.input_feeding else PlainRNNDecoder
            return decoder(
                PlainEmbedding(matrix, part.dropout),
                stack(part, part.embedding + fed, part.width),
                ProjectedBridge(memory, part.width, part.layers),
                AttentionalVector(score(part, memory), memory, part.width, part.embedding),
                part.dropout,
            )
        case _:
            assert_never(part)


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


def positioned(part: TransformerPart, matrix: nn.Parameter) -> PositionedEmbedding:
    return PositionedEmbedding(
        matrix, POSITIONS[part.positions](part.max_positions, part.width), part.dropout
    )


def encoder_layer(part: TransformerPart) -> EncoderLayer:
    return EncoderLayer(self_attention(part), feed_forward(part), residual(part), residual(part))


def decoder_layer(part: TransformerPart, memory: int) -> DecoderLayer:
    cross = CrossAttention(part.width, memory, part.heads, attention_dropout(part))
    around = (residual(part), residual(part), residual(part))
    return DecoderLayer(self_attention(part), cross, feed_forward(part), around)


def self_attention(part: TransformerPart) -> SelfAttention:
    return SelfAttention(part.width, part.heads, attention_dropout(part))


def feed_forward(part: TransformerPart) -> FeedForward | GELUFeedForward:
    rate = part.dropout if part.ffn_dropout is None else part.ffn_dropout
    return FEED_FORWARDS[part.activation](part.width, part.ffn, rate)


def attention_dropout(part: TransformerPart) -> float:
    return part.dropout if part.attention_dropout is None else part.attention_dropout


def residual(part: TransformerPart) -> PreNorm | PostNorm:
    return RESIDUALS[part.norm](part.width, part.dropout)


def last_norm(part: TransformerPart) -> nn.Module:
    """Pre-norm layers leave their sum as it is, so the top norms it once; post-norm ones have done it."""
    return nn.LayerNorm(part.width) if part.norm == "pre" else nn.Identity()
