"""Build encoder and decoder of kind "transformer"."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from dragoman.config.parts.transformer import TransformerPart
from dragoman.models.decoders.causal_transformer import CausalTransformer
from dragoman.models.decoders.transformer import TransformerDecoder
from dragoman.models.encoders.transformer import TransformerEncoder
from dragoman.nn.attention.multi_head import CrossAttention, SelfAttention
from dragoman.nn.attention.window import WindowedSelfAttention
from dragoman.nn.embedding import Matrix, PositionedEmbedding, ScaledEmbedding
from dragoman.nn.norm import LayerNorm, RMSNorm
from dragoman.nn.position import (
    Learned,
    NoRelativePositions,
    RelativeBias,
    RelativePositions,
    Rotary,
    Sinusoidal,
)
from dragoman.nn.transformer.feedforward import (
    FFN,
    FeedForward,
    GELUFeedForward,
    SwiGLUFeedForward,
    SwishFeedForward,
)
from dragoman.nn.transformer.residual import PostNorm, PreNorm
from dragoman.nn.transformer.transformer_layer import CausalLayer, DecoderLayer, EncoderLayer

POSITIONS: dict[str, type[Sinusoidal] | type[Learned]] = {"sinusoidal": Sinusoidal, "learned": Learned}
RESIDUALS: dict[str, type[PreNorm] | type[PostNorm]] = {"pre": PreNorm, "post": PostNorm}
NORMS: dict[str, type[LayerNorm] | type[RMSNorm]] = {"layer": LayerNorm, "rms": RMSNorm}
FEED_FORWARDS: dict[str, Callable[[int, int, float], FFN]] = {
    "relu": FeedForward,
    "gelu": GELUFeedForward,
    "swish": SwishFeedForward,
    "swiglu": SwiGLUFeedForward,
}


def build_encoder(part: TransformerPart, matrix: Matrix) -> TransformerEncoder:
    shared = relation(part, ahead=True)
    layers = [encoder_layer(part, shared, skip_rate(part, layer)) for layer in range(part.layers)]
    embed = embedding(part, matrix)
    return TransformerEncoder(embed, layers, last_norm(part), part.layer_drop, reads_end=part.reads_end)


def build_decoder(part: TransformerPart, matrix: Matrix, memory: int) -> TransformerDecoder:
    shared = relation(part, ahead=False)
    layers = [decoder_layer(part, shared, memory, skip_rate(part, layer)) for layer in range(part.layers)]
    return TransformerDecoder(embedding(part, matrix), layers, last_norm(part), part.layer_drop)


def build_causal(part: TransformerPart, matrix: Matrix) -> CausalTransformer:
    """Return a decoder without a source, for a language model."""
    shared = relation(part, ahead=False)
    layers = [causal_layer(part, shared, skip_rate(part, layer)) for layer in range(part.layers)]
    return CausalTransformer(embedding(part, matrix), layers, last_norm(part), part.layer_drop)


def encoder_layer(part: TransformerPart, shared: RelativePositions, skip: float) -> EncoderLayer:
    attention = self_attention(part, shared, ahead=True)
    return EncoderLayer(attention, feed_forward(part), residual(part), residual(part), skip)


def causal_layer(part: TransformerPart, shared: RelativePositions, skip: float) -> CausalLayer:
    attention = self_attention(part, shared, ahead=False)
    return CausalLayer(attention, feed_forward(part), residual(part), residual(part), skip)


def decoder_layer(part: TransformerPart, shared: RelativePositions, memory: int, skip: float) -> DecoderLayer:
    cross = CrossAttention(part.width, memory, part.heads, attention_dropout(part), kv_heads=part.kv_heads)
    attention = self_attention(part, shared, ahead=False)
    around = (residual(part), residual(part), residual(part))
    return DecoderLayer(attention, cross, feed_forward(part), around, skip)


def embedding(part: TransformerPart, matrix: Matrix) -> PositionedEmbedding | ScaledEmbedding:
    if part.positions not in POSITIONS:
        return ScaledEmbedding(matrix, part.dropout)
    return PositionedEmbedding(
        matrix, POSITIONS[part.positions](part.max_positions, part.width), part.dropout
    )


def relation(part: TransformerPart, *, ahead: bool) -> RelativePositions:
    """Return the relative positions, shared by all layers of an encoder or decoder."""
    match part.positions:
        case "rotary":
            return Rotary(part.max_positions, part.width // part.heads)
        case "relative":
            return RelativeBias(part.heads, ahead=ahead)
        case _:
            return NoRelativePositions()


def self_attention(part: TransformerPart, shared: RelativePositions, *, ahead: bool) -> SelfAttention:
    size = (part.width, part.heads, attention_dropout(part))
    if part.window is None:
        return SelfAttention(*size, kv_heads=part.kv_heads, relation=shared)
    after = part.window if ahead else 0
    return WindowedSelfAttention(
        *size, before=part.window, after=after, kv_heads=part.kv_heads, relation=shared
    )


def feed_forward(part: TransformerPart) -> FFN:
    rate = part.dropout if part.ffn_dropout is None else part.ffn_dropout
    return FEED_FORWARDS[part.activation](part.width, part.ffn, rate)


def attention_dropout(part: TransformerPart) -> float:
    return part.dropout if part.attention_dropout is None else part.attention_dropout


def residual(part: TransformerPart) -> PreNorm | PostNorm:
    return RESIDUALS[part.norm](NORMS[part.norm_kind](part.width, eps=part.norm_eps), part.dropout)


def skip_rate(part: TransformerPart, layer: int) -> float:
    """Return the skip rate of a layer; deeper layers are skipped more often (Huang et al. 2016, eq. 4)."""
    return part.stochastic_depth * (layer + 1) / part.layers


def last_norm(part: TransformerPart) -> nn.Module:
    """Return the norm after the top layer, which only pre-norm layers need: their sum is not normalised."""
    return NORMS[part.norm_kind](part.width, eps=part.norm_eps) if part.norm == "pre" else nn.Identity()
