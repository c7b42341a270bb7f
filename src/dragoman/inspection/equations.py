"""One step of an output in numbers: the equations of its last attention and of the distribution over tokens.

The network reads a given output once. What its attention and its head were called with is recorded, and each
equation is computed from that by the module's own parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from dragoman.inspection.attention import labels, vector
from dragoman.inspection.data import Equation
from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.decoders.bahdanau import BahdanauDecoder
from dragoman.models.decoders.conv import ConvDecoder
from dragoman.models.decoders.gnmt import GNMTDecoder
from dragoman.models.decoders.luong import InputFeedingDecoder, LuongDecoder
from dragoman.models.decoders.output_attention import OutputAttentionDecoder
from dragoman.models.decoders.transformer import TransformerDecoder
from dragoman.models.heads.token import TokenHead
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.attention import scores
from dragoman.nn.attention.multi_head import CrossAttention, split_heads
from dragoman.nn.conv.attention import MultiStepAttention
from dragoman.nn.conv.scaling import scaled_sum
from dragoman.protocols import Batch
from dragoman.shapes import Float, Tensor

CROSS = (CrossAttention, DecoderAttention, MultiStepAttention)
ENERGIES: dict[type[nn.Module], str] = {
    scores.Dot: "eᵢ = sᵀ hᵢ",
    scores.ScaledDot: "eᵢ = sᵀ hᵢ / √d",
    scores.Cosine: "eᵢ = β cos(s, hᵢ)",
    scores.Additive: "eᵢ = vᵀ tanh(W₁ hᵢ + W₂ s)",
    scores.Concat: "eᵢ = vᵀ tanh(W₁ [s; hᵢ])",
    scores.Multiplicative: "eᵢ = sᵀ W hᵢ",
}
QUERIES: dict[type, str] = {
    InputFeedingDecoder: "sₜ = cell([yₜ₋₁; h̃ₜ₋₁], sₜ₋₁)",
    LuongDecoder: "sₜ = cell(yₜ₋₁, sₜ₋₁)",
    OutputAttentionDecoder: "sₜ = cell(yₜ₋₁, sₜ₋₁)",
    BahdanauDecoder: "sₜ₋₁, the state before this step",
    GNMTDecoder: "sₜ₋₁, the state of the bottom layer before this step",
}
FEATURES: dict[type, str] = {
    InputFeedingDecoder: "h̃ₜ = tanh(W_c [cₜ; sₜ])",
    LuongDecoder: "h̃ₜ = tanh(W_c [cₜ; sₜ])",
    OutputAttentionDecoder: "hₜ = W [cₜ; sₜ]",
    BahdanauDecoder: "hₜ = maxout(sₜ, yₜ₋₁, cₜ), where sₜ = cell([yₜ₋₁; cₜ], sₜ₋₁)",
    GNMTDecoder: "hₜ = the state of the top layer, whose cells read cₜ",
    TransformerDecoder: "hₜ = norm(xₜ), after all heads and layers",
    ConvDecoder: "hₜ = W xₜ + b, after all blocks",
}


class Attended(NamedTuple):
    """One head of one attention at one step."""

    module: nn.Module
    query: Float[Tensor, " K"]
    energies: Float[Tensor, " S"]
    weights: Float[Tensor, " S"]
    context: Float[Tensor, " C"]


class Calls(NamedTuple):
    """What the attentions to the source, by name, and the head of a network were called with."""

    attention: dict[str, list[tuple[Any, ...]]]
    features: list[Float[Tensor, "N D"]]


@contextmanager
def recorded_calls(network: Seq2Seq) -> Iterator[Calls]:
    calls = Calls({}, [])
    hooks = []
    for name, module in network.named_modules():
        if isinstance(module, CROSS):
            mine = calls.attention.setdefault(name, [])
            hooks.append(module.register_forward_hook(lambda _, given, output, to=mine: to.append(given)))
    assert isinstance(network.head, nn.Module)
    hooks.append(network.head.register_forward_hook(lambda _, given, output: calls.features.append(given[0])))
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def step_equations(
    network: Seq2Seq, batch: Batch, step: int, source: tuple[str, ...], head: int = 0
) -> tuple[Equation, ...]:
    """Return the equations of a step, which counts from 0, of the output of one sentence.

    Of a decoder with several layers of attention, those of the last one, and of its head number `head`.
    """
    with recorded_calls(network) as calls:
        log_p = network.log_p(batch)[0, step]
    h = calls.features[0][step]
    found = []
    if calls.attention:
        name = list(calls.attention)[-1]
        found += attention_equations(
            network, attended(network, name, calls.attention[name], step, head), source
        )
    formula = FEATURES.get(type(network.decoder), "hₜ, the features of the decoder")
    found.append(Equation("features", formula, (), vector(h)))
    if isinstance(network.head, TokenHead):
        z = F.linear(h, network.head.W, network.head.b)
        found.append(Equation("logits", "z = W hₜ + b", (), vector(z)))
    found.append(Equation("probabilities", "p = exp(z) / Σᵥ exp(zᵥ)", (), vector(log_p.exp())))
    return tuple(found)


def attention_equations(network: Seq2Seq, one: Attended, source: tuple[str, ...]) -> list[Equation]:
    query, energies, context = formulas(network, one.module)
    keys = labels(source, len(one.weights))
    return [
        Equation("query", query, (), vector(one.query)),
        Equation("energies", energies, keys, vector(one.energies)),
        Equation("weights", "αᵢ = exp(eᵢ) / Σⱼ exp(eⱼ)", keys, vector(one.weights)),
        Equation("context", context, (), vector(one.context)),
    ]


def formulas(network: Seq2Seq, module: nn.Module) -> tuple[str, str, str]:
    """Return the equations of query, energies and context."""
    match module:
        case CrossAttention():
            return "q = W_q xₜ", "eᵢ = qᵀ kᵢ / √d, where kᵢ = W_k hᵢ", "c = Σᵢ αᵢ vᵢ, where vᵢ = W_v hᵢ"
        case MultiStepAttention():
            return "d = (W_d hₜ + b_d + gₜ) √½", "eᵢ = dᵀ zᵢ", "c = Σᵢ αᵢ (zᵢ + xᵢ) √½"
        case DecoderAttention():
            query = QUERIES.get(type(network.decoder), "sₜ, the state of the decoder")
            score = module.score
            if isinstance(score, scores.ProjectedKeys):
                assert isinstance(score.inner, nn.Module)
                return query, f"{ENERGIES[type(score.inner)]}, with W_k hᵢ for hᵢ", "cₜ = Σᵢ αᵢ hᵢ"
            assert isinstance(score, nn.Module)
            return query, ENERGIES[type(score)], "cₜ = Σᵢ αᵢ hᵢ"
    raise AssertionError(module)


def attended(network: Seq2Seq, name: str, calls: list[tuple[Any, ...]], step: int, head: int) -> Attended:
    """Return the attention of a step, of a decoder that reads all of them at once or one after the other."""
    module = network.get_submodule(name)
    if len(calls) == 1:
        return attended_in(module, calls[0], step, head)
    return attended_in(module, calls[step], 0, head)


def attended_in(module: nn.Module, given: tuple[Any, ...], row: int, head: int) -> Attended:
    match module:
        case DecoderAttention():
            s, (keys, values, bias) = given
            q, e, v = s[0], module.score.score(s, keys)[0], values[0]
        case MultiStepAttention():
            h, g, shape, (keys, values, bias, _) = given
            d = scaled_sum(module.W_d(h), g).unflatten(0, shape)
            q, e, v = d[0], (d @ keys.transpose(1, 2))[0], values[0]
        case CrossAttention():
            x, shape, kv, bias = given
            shared = head * module.kv_heads // module.heads
            q, v = split_heads(module.W_q(x), shape, 1, module.heads)[0, 0, head], kv.v[0, shared]
            e = q @ kv.k[0, shared].T * q.shape[1] ** -0.5
        case _:
            raise AssertionError(module)
    hidden = 0.0 if bias is None else bias[0, row if bias.shape[1] > 1 else 0]
    alpha = torch.softmax(e[row] + hidden, dim=-1)
    return Attended(module, q[row], e[row], alpha, alpha @ v)
