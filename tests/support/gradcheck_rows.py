"""How to make each module of nn/ at a tiny size in float64, and what to feed it: a row for each class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from dragoman.nn.attention import scores
from dragoman.nn.attention.attend import causal_bias
from dragoman.nn.attention.multi_head import CrossAttention, SelfAttention
from dragoman.nn.attention.pooling import LearnedQuery, PositionBiasPooling
from dragoman.nn.attention.window import WindowedSelfAttention
from dragoman.nn.characters import CharacterCNN, Filters, Highway
from dragoman.nn.conv.attention import MultiStepAttention, Source
from dragoman.nn.conv.block import DecoderBlock, EncoderBlock
from dragoman.nn.conv.embedding import PositionalEmbedding
from dragoman.nn.conv.frames import (
    FrameConvolutions,
    FrameProjection,
    PooledConvolution,
    StridedConvolution,
)
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.conv.sentence_model import SentenceModel
from dragoman.nn.conv.weight_norm import WeightNormed
from dragoman.nn.dropout import Dropout
from dragoman.nn.embedding import PlainEmbedding, PositionedEmbedding, ScaledEmbedding, embedding_matrix
from dragoman.nn.module_list import TypedModuleList
from dragoman.nn.norm import LayerNorm, RMSNorm
from dragoman.nn.position import Learned, NoRelativePositions, RelativeBias, Rotary, Sinusoidal
from dragoman.nn.split_states import SplitStates
from dragoman.nn.transformer.feedforward import (
    FeedForward,
    GELUFeedForward,
    SwiGLUFeedForward,
    SwishFeedForward,
)
from dragoman.nn.transformer.residual import LayerDrop, PostNorm, PreNorm, StochasticDepth
from dragoman.nn.transformer.transformer_layer import CausalLayer, DecoderLayer, EncoderLayer
from support import gradcheck_answers as answers
from support import gradcheck_recurrence as recurrence
from support.gradcheck import DROP, F64, HIDDEN, KEEP, WORDS, Check, check, drawn, plain


def score(made: nn.Module, key_size: int) -> Check:
    return check(made, lambda s, h: made.score(s, made.keys(h)), drawn(2, 2, 3), drawn(2, 3, key_size))


def relation(made: nn.Module) -> Check:
    attention = SelfAttention(4, 2, DROP, relation=made)
    return check(attention, lambda x: attention(x, (1, 3), None), drawn(3, 4))


def grouped() -> Check:
    made = SelfAttention(4, 2, DROP, kv_heads=1)
    return check(made, lambda x: made(x, (2, 3), HIDDEN), drawn(6, 4))


def cross() -> Check:
    made = CrossAttention(4, 3, 2, DROP, kv_heads=1)

    def function(x: Tensor, memory: Tensor) -> tuple[Tensor, ...]:
        kv = made.project_memory(memory, (2, 3))
        bias = HIDDEN.unsqueeze(1).expand(2, 2, 1, 3)
        return made(x, (2, 2), kv, HIDDEN), *made.forward_with_weights(x, (2, 2), kv, bias)

    return check(made, function, drawn(4, 4), drawn(6, 3))


def windowed() -> Check:
    made = WindowedSelfAttention(4, 2, 0.0, before=1, after=1, relation=RelativeBias(2, ahead=True))

    def function(x: Tensor) -> tuple[Tensor, ...]:
        q, kv = made.project(x, (2, 3), 0)
        return made(x, (2, 3), HIDDEN), made.by_blocks(q, kv, HIDDEN)

    return check(made, function, drawn(6, 4))


def encoder_layer(kind: type[EncoderLayer] = EncoderLayer) -> Check:
    around = (PreNorm(RMSNorm(2), DROP), PostNorm(nn.LayerNorm(2), DROP))
    made = kind(SelfAttention(2, 1, DROP), FeedForward(2, 3, DROP), *around, skip=DROP)
    return check(made, lambda x: made(x, (2, 3), HIDDEN), drawn(6, 2))


def decoder_layer() -> Check:
    around = (PreNorm(nn.LayerNorm(2), DROP), PostNorm(RMSNorm(2), DROP), PreNorm(nn.LayerNorm(2), DROP))
    parts = SelfAttention(2, 1, DROP), CrossAttention(2, 3, 1, DROP), GELUFeedForward(2, 3, DROP)
    made = DecoderLayer(*parts, around, skip=DROP)
    causal = causal_bias(2, F64, torch.device("cpu"))

    def function(x: Tensor, memory: Tensor) -> Tensor:
        return made(x, (2, 2), causal, made.cross.project_memory(memory, (2, 3)), HIDDEN)

    return check(made, function, drawn(4, 2), drawn(6, 3))


def conv_attention(made: nn.Module, width: int) -> Check:
    """Attention by itself, or a block with it."""
    root = KEEP.sum(dim=1).double().sqrt().view(-1, 1, 1)

    def function(h: Tensor, g: Tensor, keys: Tensor, values: Tensor) -> Tensor | tuple[Tensor, ...]:
        return made(h, g, (2, 2), Source(keys, values, HIDDEN, root))

    return check(made, function, drawn(4, width), drawn(4, 3), drawn(2, 3, 3), drawn(2, 3, 3))


def gated() -> Check:
    made = GatedConvolution(2, 3, 3, 2, DROP)
    return check(made, lambda x: (made(x, (2, 3)), made.step(x[:2], made.before(2))[0]), drawn(6, 2))


def sentence_model() -> Check:
    made = SentenceModel(2, widest=3)
    return check(made, lambda x: made(x, KEEP)[:2], drawn(2, 3, 2))


def over_frames(made: nn.Module, *shape: int) -> Check:
    return check(made, lambda x: made(x, KEEP)[0], drawn(2, *shape))


def encoder_block() -> Check:
    made = EncoderBlock(GatedConvolution(2, 3, 3, 1, DROP), WeightNormed(2, 3))
    return check(made, lambda x: made(x, (2, 3), KEEP.view(-1, 1).double()), drawn(6, 2))


def filters() -> Check:
    made = Filters(2, 2, 3)
    return check(made, lambda c: made(c, torch.tensor([4, 2])), drawn(2, 4, 2))


def characters() -> Check:
    spelling = torch.tensor([[1, 3, 2, 0], [1, 4, 3, 2], [1, 2, 4, 0]])
    made = CharacterCNN(spelling, features=2, widths=(1, 3), filters=1, highways=1, size=2)
    return check(made, lambda: made(WORDS))


def embedding(made: nn.Module) -> Check:
    return check(made, lambda: made(WORDS))


def drop_layers() -> Check:
    made = nn.ModuleDict(
        {"drop": LayerDrop(0.5), "layers": TypedModuleList(nn.Linear(2, 2) for _ in range(4))}
    )

    def function(x: Tensor) -> Tensor:
        for linear in made["drop"](made["layers"]):
            x = torch.tanh(linear(x))
        return x

    return check(made, function, drawn(2, 2))


def stack() -> Check:
    made = TypedModuleList([nn.Linear(2, 3), Highway(3)])
    return check(made, lambda x: made[1](made[0](x)), drawn(2, 2))


def depth() -> Check:
    made = StochasticDepth(0.5)
    return check(made, lambda y: made(y, (4, 2)), drawn(8, 2))


def sublayer(made: nn.Module) -> Check:
    return check(made, lambda x: made(x, torch.sin), drawn(3, 4))


def added(made: Sinusoidal | Learned) -> Check:
    """A word and its place."""
    return check(made, lambda x: x + made(1, 3), drawn(3, 2))


def pooled(made: nn.Module) -> Check:
    return check(made, lambda h: made(h, KEEP), drawn(2, 3, 2))


def split() -> Check:
    made = SplitStates(2, 3)
    return check(made, lambda h: made(h, KEEP)[0], drawn(2, 3, 2))


ROWS: dict[type[nn.Module], Callable[[], Check]] = {
    **recurrence.ROWS,
    **answers.ROWS,
    LayerNorm: lambda: plain(LayerNorm(3), drawn(2, 3)),
    RMSNorm: lambda: plain(RMSNorm(3), drawn(2, 3)),
    Dropout: lambda: plain(Dropout(DROP), drawn(3, 4)),
    TypedModuleList: stack,
    scores.Dot: lambda: score(scores.Dot(), 3),
    scores.ScaledDot: lambda: score(scores.ScaledDot(), 3),
    scores.Cosine: lambda: score(scores.Cosine(), 3),
    scores.Additive: lambda: score(scores.Additive(3, 2, 4), 2),
    scores.Concat: lambda: score(scores.Concat(3, 2, 4), 2),
    scores.Multiplicative: lambda: score(scores.Multiplicative(3, 2), 2),
    scores.ProjectedKeys: lambda: score(scores.ProjectedKeys(scores.Dot(), 2, 3), 2),
    LearnedQuery: lambda: pooled(LearnedQuery(scores.Additive(3, 2, 4), 3, nn.Linear(2, 2))),
    PositionBiasPooling: lambda: pooled(PositionBiasPooling(3, 2)),
    SelfAttention: grouped,
    CrossAttention: cross,
    WindowedSelfAttention: windowed,
    NoRelativePositions: lambda: relation(NoRelativePositions()),
    Rotary: lambda: relation(Rotary(3, 2)),
    RelativeBias: lambda: relation(RelativeBias(2, ahead=True, buckets=4)),
    Sinusoidal: lambda: added(Sinusoidal(4, 2)),
    Learned: lambda: added(Learned(4, 2)),
    PlainEmbedding: lambda: embedding(PlainEmbedding(embedding_matrix(3, 2), DROP)),
    PositionedEmbedding: lambda: embedding(PositionedEmbedding(embedding_matrix(3, 2), Learned(3, 2), DROP)),
    ScaledEmbedding: lambda: embedding(ScaledEmbedding(embedding_matrix(3, 2), DROP)),
    PositionalEmbedding: lambda: embedding(PositionalEmbedding(embedding_matrix(3, 2), 3, 2, DROP)),
    Highway: lambda: plain(Highway(3), drawn(2, 3)),
    Filters: filters,
    CharacterCNN: characters,
    WeightNormed: lambda: plain(WeightNormed(2, 3), drawn(2, 2)),
    GatedConvolution: gated,
    SentenceModel: sentence_model,
    StridedConvolution: lambda: over_frames(StridedConvolution(2, 2, 2), 2, 3, 3),
    PooledConvolution: lambda: over_frames(PooledConvolution(2, 2, 2), 2, 3, 3),
    FrameConvolutions: lambda: over_frames(FrameConvolutions([StridedConvolution(1, 2, 2)], 3, 2), 3, 3),
    FrameProjection: lambda: over_frames(FrameProjection(3, 2), 3, 3),
    MultiStepAttention: lambda: conv_attention(MultiStepAttention(2, 3), 2),
    EncoderBlock: encoder_block,
    DecoderBlock: lambda: conv_attention(
        DecoderBlock(GatedConvolution(2, 2, 2, 1, DROP), MultiStepAttention(2, 3), nn.Identity()), 2
    ),
    FeedForward: lambda: plain(FeedForward(2, 4, DROP), drawn(3, 2)),
    GELUFeedForward: lambda: plain(GELUFeedForward(2, 4, DROP), drawn(3, 2)),
    SwishFeedForward: lambda: plain(SwishFeedForward(2, 4, DROP), drawn(3, 2)),
    SwiGLUFeedForward: lambda: plain(SwiGLUFeedForward(2, 4, DROP), drawn(3, 2)),
    SplitStates: split,
    PreNorm: lambda: sublayer(PreNorm(nn.LayerNorm(4), DROP)),
    PostNorm: lambda: sublayer(PostNorm(nn.LayerNorm(4), DROP)),
    StochasticDepth: depth,
    LayerDrop: drop_layers,
    EncoderLayer: encoder_layer,
    CausalLayer: partial(encoder_layer, CausalLayer),
    DecoderLayer: decoder_layer,
}
# Gradients that are written by hand, by the name of their class; each is reached through what calls it.
FUNCTIONS: dict[str, tuple[Callable[[], Check], ...]] = recurrence.FUNCTIONS
