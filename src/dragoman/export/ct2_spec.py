"""Conversion of a Transformer to the format of CTranslate2, through its model specs.

CTranslate2 does not document three requirements: an input of 1024 tokens needs 1024 positions, or decoding
fails midway; if sinusoids are not stored, it generates them, starting one position later than ours; and tied
weights must be bit-identical before quantization to be stored once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from ctranslate2.specs import common_spec, transformer_spec
from numpy.typing import NDArray
from torch import nn

from dragoman.config.exportable import reasons
from dragoman.config.parts.transformer import TransformerPart
from dragoman.errors import ModelError
from dragoman.models.bundle import Bundle
from dragoman.models.decoders.transformer import TransformerDecoder
from dragoman.models.encoders.transformer import TransformerEncoder
from dragoman.models.heads.token import TokenHead
from dragoman.nn.characters import CharacterCNN
from dragoman.nn.embedding import Matrix, PositionedEmbedding, ScaledEmbedding, rows
from dragoman.nn.position import RelativeBias, Sinusoidal, sinusoids
from dragoman.text.specials import BOS, PAD, SPECIALS, UNK
from dragoman.text.tokenizer import unique_token_names

Quantization = Literal["float32", "float16", "bfloat16", "int8"]
LONGEST = 1024  # default input length limit of CTranslate2, in tokens
NEVER = -1e4  # a logit with probability 0 that float16 can represent
ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "swish": common_spec.Activation.SWISH,
    "swiglu": common_spec.Activation.SWISH,
}

Array = NDArray[np.float32]


def write(bundle: Bundle, folder: Path, quantization: Quantization, *, bars_specials: bool) -> None:
    """Write model.bin, config.json and the vocabularies; raise ModelError naming each unsupported option.

    With `bars_specials`, <pad> and <s> get probability 0, since our search never generates them.
    """
    spec = specification(bundle)
    if bars_specials:
        spec.decoder.projection.bias[[PAD, BOS]] = NEVER
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def specification(bundle: Bundle) -> Any:
    model, config = bundle.model, bundle.config.model
    refuse(bundle)
    assert isinstance(config.encoder, TransformerPart)
    assert isinstance(config.decoder, TransformerPart)
    assert isinstance(model.encoder, TransformerEncoder)
    assert isinstance(model.decoder, TransformerDecoder)
    assert isinstance(model.head, TokenHead)
    spec = transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(**architecture(config.encoder)),
        transformer_spec.TransformerDecoderSpec(
            **architecture(config.decoder), alignment_heads=config.decoder.heads
        ),
    )
    with torch.no_grad():
        fill_encoder(spec.encoder, model.encoder)
        fill_decoder(spec.decoder, model.decoder)
    spec.decoder.projection.weight = array(model.head.W)
    spec.decoder.projection.bias = array(model.head.b)
    spec.register_source_vocabulary(unique_token_names(bundle.text.src))
    spec.register_target_vocabulary(unique_token_names(bundle.text.tgt))
    spec.config.unk_token = SPECIALS[UNK]
    spec.config.decoder_start_token = SPECIALS[BOS]
    spec.config.add_source_eos = config.encoder.reads_end
    spec.config.layer_norm_epsilon = epsilon(model)
    return spec


def refuse(bundle: Bundle) -> None:
    if against := reasons(bundle.config.model, "ct2"):
        raise ModelError(
            f"CTranslate2 cannot run this model: {' · '.join(against)}.",
            where="[model] in its settings.toml",
            expected="a Transformer on both sides, with unlimited attention and one softmax",
            hint="dragoman run needs no export; dragoman train shows before training what can be exported.",
        )


def architecture(part: TransformerPart) -> dict[str, Any]:
    rotary = {"rotary_dim": 0, "rotary_interleave": False} if part.positions == "rotary" else {}
    return {
        "num_layers": part.layers,
        "num_heads": part.heads,
        "num_heads_kv": part.kv_heads,
        "pre_norm": part.norm == "pre",
        "rms_norm": part.norm_kind == "rms",
        "activation": ACTIVATIONS[part.activation],
        "ffn_glu": part.activation == "swiglu",
        "relative_attention_bias": part.positions == "relative",
        **rotary,
    }


def fill_encoder(spec: Any, encoder: TransformerEncoder) -> None:
    spec.embeddings[0].weight = matrix(encoder.embed.matrix)
    fill_positions(spec, encoder.embed)
    fill_norm(getattr(spec, "layer_norm", None), encoder.norm)
    for layer, ours in zip(spec.layer, encoder.layers, strict=True):
        fill_self_attention(layer.self_attention, ours.attention, ours.around_attention.norm)
        fill_feed_forward(layer.ffn, ours.ffn, ours.around_ffn.norm)


def fill_decoder(spec: Any, decoder: TransformerDecoder) -> None:
    spec.embeddings.weight = matrix(decoder.embed.matrix)
    fill_positions(spec, decoder.embed)
    fill_norm(getattr(spec, "layer_norm", None), decoder.norm)
    for layer, ours in zip(spec.layer, decoder.layers, strict=True):
        fill_self_attention(layer.self_attention, ours.attention, ours.around_attention.norm)
        fill_norm(layer.attention.layer_norm, ours.around_cross.norm)
        for linear, W in zip(
            layer.attention.linear, (ours.cross.W_q, ours.cross.W_kv, ours.cross.W_o), strict=True
        ):
            fill_linear(linear, W)
        fill_feed_forward(layer.ffn, ours.ffn, ours.around_ffn.norm)


def fill_positions(spec: Any, embed: PositionedEmbedding | ScaledEmbedding) -> None:
    """Write at least 1024 positions; the last learned one is repeated, so that decoding cannot fail."""
    if not isinstance(embed, PositionedEmbedding):
        return
    table = embed.positions.table
    missing = max(LONGEST - len(table), 0)
    if isinstance(embed.positions, Sinusoidal):
        table = sinusoids(len(table) + missing, table.shape[1])
    else:
        table = torch.cat((table, table[-1:].expand(missing, -1)))
    spec.position_encodings.encodings = array(table)


def fill_self_attention(spec: Any, attention: Any, norm: nn.Module) -> None:
    fill_norm(spec.layer_norm, norm)
    fill_linear(spec.linear[0], attention.W_qkv)
    fill_linear(spec.linear[1], attention.W_o)
    if isinstance(attention.relation, RelativeBias):
        spec.relative_attention_bias = array(attention.relation.table)
        spec.relative_attention_max_distance = np.int32(attention.relation.farthest)


def fill_feed_forward(spec: Any, ffn: Any, norm: nn.Module) -> None:
    fill_norm(spec.layer_norm, norm)
    fill_linear(spec.linear_0, ffn.W_1)
    fill_linear(spec.linear_1, ffn.W_2)
    if hasattr(ffn, "V"):
        fill_linear(spec.linear_0_noact, ffn.V)


def fill_linear(spec: Any, W: nn.Linear) -> None:
    spec.weight = array(W.weight)
    if W.bias is not None:
        spec.bias = array(W.bias)


def fill_norm(spec: Any | None, norm: nn.Module) -> None:
    """Copy a norm; `spec` is None for post-norm models, which have no final norm."""
    for name, ours in (("gamma", "weight"), ("beta", "bias")):
        weight = getattr(norm, ours, None)
        if spec is not None and weight is not None:
            setattr(spec, name, array(weight))


def matrix(weights: Matrix) -> Array:
    """Return the embedding matrix, also of character embeddings."""
    if isinstance(weights, nn.Parameter):
        return array(weights)
    assert isinstance(weights, CharacterCNN), "frames have no embedding"
    return array(rows(weights, torch.arange(len(weights.spelling)).unsqueeze(0))[0])


def epsilon(model: nn.Module) -> float:
    """Return the ε of all norms, of which CTranslate2 has only one."""
    (eps,) = set(_epsilons(model))
    return eps


def _epsilons(model: nn.Module) -> Iterator[float]:
    for module in model.modules():
        if isinstance(module, nn.LayerNorm | nn.RMSNorm) and module.eps is not None:
            yield module.eps


def array(tensor: torch.Tensor) -> Array:
    return np.array(tensor.detach().float().numpy(), dtype=np.float32)
