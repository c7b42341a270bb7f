"""Definitions of attention, positions and the Transformer's layers; and the table of all definitions."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from dragoman.nn.attention.attend import causal_bias, window_bias
from dragoman.nn.attention.multi_head import CrossAttention, SelfAttention
from dragoman.nn.attention.window import WindowedSelfAttention
from dragoman.nn.norm import LayerNorm, RMSNorm
from dragoman.nn.position import Learned, RelativeBias, Rotary, Sinusoidal
from dragoman.nn.split_states import SplitStates
from dragoman.nn.transformer.feedforward import (
    FeedForward,
    GELUFeedForward,
    SwiGLUFeedForward,
    SwishFeedForward,
)
from dragoman.nn.transformer.residual import PostNorm, PreNorm
from dragoman.nn.transformer.transformer_layer import CausalLayer, DecoderLayer, EncoderLayer
from nn.test_position import by_the_book
from support import definition_answers as answers
from support import definition_convolution as convolution
from support import definition_recurrence as recurrence
from support.definition import HALF, KEEP, B, Definition, S, hidden, row

D, M, H = 8, 6, 2
FLAT, MEMORY = (B * S, D), (B * S, M)


def own(theirs: nn.Module, weights: dict[str, Tensor], *inputs: Tensor, **options: Tensor | bool) -> Tensor:
    """A module of torch with the weights of ours."""
    return functional_call(theirs.to(inputs[0].dtype), weights, inputs, options)


def self_weights(m: SelfAttention, name: str = "") -> dict[str, Tensor]:
    own_names = {"in_proj_weight": m.W_qkv.weight, "in_proj_bias": m.W_qkv.bias, **out_weights(m)}
    return {name + key: value for key, value in own_names.items()}


def out_weights(m: SelfAttention | CrossAttention) -> dict[str, Tensor]:
    return {"out_proj.weight": m.W_o.weight, "out_proj.bias": m.W_o.bias}


def cross_weights(m: CrossAttention) -> dict[str, Tensor]:
    """torch has one matrix for all three where memory and queries are equally wide."""
    bias = {"in_proj_bias": torch.cat((m.W_q.bias, m.W_kv.bias)), **out_weights(m)}
    k, v = m.W_kv.weight.chunk(2)
    if k.shape[1] == D:
        return {"in_proj_weight": torch.cat((m.W_q.weight, m.W_kv.weight)), **bias}
    return {"q_proj_weight": m.W_q.weight, "k_proj_weight": k, "v_proj_weight": v, **bias}


def attended(m: SelfAttention, x: Tensor, bias: Tensor) -> Tensor:
    x = x.view(B, S, D)
    mask = bias.expand(B, S, S).repeat_interleave(H, dim=0)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    return own(theirs, self_weights(m), x, x, x, attn_mask=mask, need_weights=False)[0].flatten(0, 1)


def crossed(m: CrossAttention, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    theirs = nn.MultiheadAttention(D, H, batch_first=True, kdim=M, vdim=M)
    memory = memory.view(B, S, M)
    c, alpha = own(theirs, cross_weights(m), x.view(B, S, D), memory, memory, key_padding_mask=~KEEP)
    return c.flatten(0, 1), alpha


def looked(m: CrossAttention, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    c, alpha = m.forward_with_weights(
        x, (B, S), m.project_memory(memory, (B, S)), hidden(x).unsqueeze(1).expand(B, H, 1, S)
    )
    return c, alpha.mean(dim=1)


def layer_weights(m: EncoderLayer | DecoderLayer, *norms: nn.Module) -> dict[str, Tensor]:
    weights = self_weights(m.attention, "self_attn.")
    for number, around in enumerate(norms, start=1):
        weights |= {f"norm{number}.{key}": value for key, value in around.norm.named_parameters()}
    for number, W in ((1, m.ffn.W_1), (2, m.ffn.W_2)):
        weights |= {f"linear{number}.{key}": value for key, value in W.named_parameters()}
    return weights


def encoded(m: EncoderLayer, x: Tensor) -> Tensor:
    theirs = nn.TransformerEncoderLayer(D, H, 12, 0.0, batch_first=True, norm_first=True)
    weights = layer_weights(m, m.around_attention, m.around_ffn)
    return own(theirs, weights, x.view(B, S, D), src_key_padding_mask=~KEEP).flatten(0, 1)


def decoded(m: DecoderLayer, x: Tensor, memory: Tensor) -> Tensor:
    theirs = nn.TransformerDecoderLayer(D, H, 12, 0.0, "gelu", batch_first=True)
    weights = layer_weights(m, m.around_attention, m.around_cross, m.around_ffn)
    weights |= {f"multihead_attn.{key}": value for key, value in cross_weights(m.cross).items()}
    causal = causal_bias(S, x.dtype, x.device)[0]
    masks = {"tgt_mask": causal, "memory_mask": None, "tgt_key_padding_mask": None}
    inputs = x.view(B, S, D), memory.view(B, S, D)
    return own(theirs, weights, *inputs, **masks, memory_key_padding_mask=~KEEP).flatten(0, 1)


def encoder_layer(kind: type[EncoderLayer]) -> EncoderLayer:
    around = (PreNorm(nn.LayerNorm(D), 0.0) for _ in range(2))
    return kind(SelfAttention(D, H, 0.0), FeedForward(D, 12, 0.0), *around)


def decoder_layer() -> DecoderLayer:
    around = tuple(PostNorm(nn.LayerNorm(D), 0.0) for _ in range(3))
    return DecoderLayer(
        SelfAttention(D, H, 0.0), CrossAttention(D, D, H, 0.0), GELUFeedForward(D, 12, 0.0), around
    )


def decoder_layered(m: DecoderLayer, x: Tensor, memory: Tensor) -> Tensor:
    kv = m.cross.project_memory(memory, (B, S))
    return m(x, (B, S), causal_bias(S, x.dtype, x.device), kv, hidden(x))


def turned(m: Rotary, x: Tensor) -> Tensor:
    """In the complex plane: (x_i + 𝑖 x_{K/2+i}) · e^{𝑖 t θ_i}, from place 20."""
    pairs = torch.complex(*x.chunk(2, dim=3))
    angles = [[t / 10000 ** (2 * i / D) for i in range(D // 2)] for t in range(20, 20 + S)]
    z = pairs * torch.polar(torch.ones(S, D // 2, dtype=x.dtype), torch.tensor(angles, dtype=x.dtype))
    return torch.cat((z.real, z.imag), dim=3)


def waves(m: Sinusoidal, x: Tensor) -> Tensor:
    angles = [[t / 10000 ** (2 * i / D) for i in range(D // 2)] for t in range(len(x))]
    table = [[*map(math.sin, at), *map(math.cos, at)] for at in angles]
    return x + torch.tensor(table, dtype=x.dtype)


def biased(m: RelativeBias) -> Tensor:
    places = [[by_the_book(s - t, ahead=True) for s in range(40)] for t in range(40)]
    return m.table[torch.tensor(places)].permute(2, 0, 1)


def swiglu(m: SwiGLUFeedForward, x: Tensor) -> Tensor:
    a = x @ m.W_1.weight.T
    return (a / (1 + torch.exp(-a)) * (x @ m.V.weight.T)) @ m.W_2.weight.T


ROWS: dict[type[nn.Module], Definition] = {
    **recurrence.ROWS,
    **convolution.ROWS,
    **answers.ROWS,
    SelfAttention: row(
        lambda: SelfAttention(D, H, 0.0),
        FLAT,
        ours=lambda m, x: m(x, (B, S), hidden(x)),
        theirs=lambda m, x: attended(m, x, hidden(x)),
    ),
    CrossAttention: row(lambda: CrossAttention(D, M, H, 0.0), FLAT, MEMORY, ours=looked, theirs=crossed),
    WindowedSelfAttention: row(
        lambda: WindowedSelfAttention(D, H, 0.0, before=1, after=2),
        FLAT,
        ours=lambda m, x: m(x, (B, S), hidden(x)),
        theirs=lambda m, x: attended(m, x, window_bias(hidden(x), S, 0, 1, 2)),
    ),
    Rotary: row(lambda: Rotary(30, D), (B, H, S, D), ours=lambda m, x: m.turn(x, 20), theirs=turned),
    RelativeBias: row(lambda: RelativeBias(H, ahead=True), ours=lambda m: m.bias(40, 40, 0), theirs=biased),
    Sinusoidal: row(lambda: Sinusoidal(50, D), (50, D), ours=lambda m, x: x + m(0, 50), theirs=waves),
    Learned: row(
        lambda: Learned(9, D),
        ours=lambda m: m(3, S),
        theirs=lambda m: F.embedding(torch.arange(3, 3 + S), m.table),
    ),
    LayerNorm: row(
        lambda: LayerNorm(D),
        FLAT,
        theirs=lambda m, x: (
            (x - x.mean(dim=1, keepdim=True))
            / torch.sqrt(x.var(dim=1, correction=0, keepdim=True) + 1e-5)
            * m.weight
            + m.bias
        ),
    ),
    RMSNorm: row(
        lambda: RMSNorm(D),
        FLAT,
        theirs=lambda m, x: x * m.weight / torch.sqrt(x.square().mean(dim=1, keepdim=True) + 1e-5),
    ),
    SplitStates: row(
        lambda: SplitStates(D, 2),
        (B, S, D),
        ours=lambda m, h: m(h, torch.ones(B, S, dtype=torch.bool))[0],
        theirs=lambda m, h: torch.stack(
            [
                F.linear(h[:, t // 2], m.spl.weight.chunk(2)[t % 2], m.spl.bias.chunk(2)[t % 2])
                for t in range(2 * S)
            ],
            dim=1,
        ),
    ),
    PreNorm: row(
        lambda: PreNorm(nn.LayerNorm(D), 0.0),
        FLAT,
        ours=lambda m, x: m(x, torch.sin),
        theirs=lambda m, x: x + torch.sin(F.layer_norm(x, (D,), m.norm.weight, m.norm.bias)),
    ),
    PostNorm: row(
        lambda: PostNorm(nn.LayerNorm(D), 0.0),
        FLAT,
        ours=lambda m, x: m(x, torch.sin),
        theirs=lambda m, x: F.layer_norm(x + torch.sin(x), (D,), m.norm.weight, m.norm.bias),
    ),
    FeedForward: row(
        lambda: FeedForward(D, 12, 0.0),
        FLAT,
        theirs=lambda m, x: F.linear(m.W_1(x).clamp(min=0), m.W_2.weight, m.W_2.bias),
    ),
    GELUFeedForward: row(
        lambda: GELUFeedForward(D, 12, 0.0),
        FLAT,
        theirs=lambda m, x: m.W_2(0.5 * m.W_1(x) * (1 + torch.erf(m.W_1(x) * HALF))),
    ),
    SwishFeedForward: row(
        lambda: SwishFeedForward(D, 12, 0.0),
        FLAT,
        theirs=lambda m, x: m.W_2(m.W_1(x) / (1 + torch.exp(-m.W_1(x)))),
    ),
    SwiGLUFeedForward: row(lambda: SwiGLUFeedForward(D, 12, 0.0), FLAT, theirs=swiglu),
    **{
        layer: row(
            partial(encoder_layer, layer), FLAT, ours=lambda m, x: m(x, (B, S), hidden(x)), theirs=encoded
        )
        for layer in (EncoderLayer, CausalLayer)
    },
    DecoderLayer: row(decoder_layer, FLAT, FLAT, ours=decoder_layered, theirs=decoded),
}
