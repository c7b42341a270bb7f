"""Settings of kind "transformer" → encoder and decoder."""

from __future__ import annotations

from torch import nn

from dragoman.config.parts.transformer import TransformerPart
from dragoman.models.decoders.transformer import TransformerDecoder
from dragoman.models.encoders.transformer import TransformerEncoder
from dragoman.nn.attention.multihead import CrossAttention, SelfAttention
from dragoman.nn.embedding import Matrix, PositionedEmbedding
from dragoman.nn.position import Learned, Sinusoidal
from dragoman.nn.transformer.decoder_layer import DecoderLayer
from dragoman.nn.transformer.encoder_layer import EncoderLayer
from dragoman.nn.transformer.feedforward import FeedForward, GELUFeedForward
from dragoman.nn.transformer.residual import PostNorm, PreNorm

POSITIONS: dict[str, type[Sinusoidal] | type[Learned]] = {"sinusoidal": Sinusoidal, "learned": Learned}
RESIDUALS: dict[str, type[PreNorm] | type[PostNorm]] = {"pre": PreNorm, "post": PostNorm}
FEED_FORWARDS: dict[str, type[FeedForward] | type[GELUFeedForward]] = {
    "relu": FeedForward,
    "gelu": GELUFeedForward,
}


def build_encoder(part: TransformerPart, matrix: Matrix) -> TransformerEncoder:
    layers = [encoder_layer(part) for _ in range(part.layers)]
    return TransformerEncoder(positioned(part, matrix), layers, last_norm(part))


def build_decoder(part: TransformerPart, matrix: Matrix, memory: int) -> TransformerDecoder:
    layers = [decoder_layer(part, memory) for _ in range(part.layers)]
    return TransformerDecoder(positioned(part, matrix), layers, last_norm(part))


def positioned(part: TransformerPart, matrix: Matrix) -> PositionedEmbedding:
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
