"""Descriptions of a model: its network, its vocabulary and its export formats."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.cli.format import plural
from dragoman.config.exportable import reasons
from dragoman.config.model import ModelConfig
from dragoman.config.parts.no_encoder import NoEncoderPart
from dragoman.config.parts.recurrent import RNNDecoderPart
from dragoman.config.text import TextConfig


def in_full(model: ModelConfig) -> str:
    encoder, decoder = model.encoder, model.decoder
    if isinstance(encoder, NoEncoderPart):
        shape = decoder.wide if isinstance(decoder, RNNDecoderPart) else decoder.shape
        return f"{decoder.name}, {plural(decoder.layers, 'layer')} × {shape}"
    if not model.head.reads_decoder:
        return f"{encoder.name}, {plural(encoder.layers, 'layer')} × {encoder.shape} → {model.head.kind}"
    if (encoder.name, encoder.shape) == (decoder.name, decoder.shape):
        return f"{encoder.name}, {encoder.layers}+{decoder.layers} layers × {encoder.shape}"
    sides = (f"{side.name}, {plural(side.layers, 'layer')} × {side.shape}" for side in (encoder, decoder))
    return " → ".join(sides)


def in_short(model: ModelConfig) -> str:
    """Return a short description: transformer 3+3 × 256"""
    used = (model.encoder, model.decoder) if model.head.reads_decoder else (model.encoder,)
    sides = [side for side in used if not isinstance(side, NoEncoderPart)]
    kinds = dict.fromkeys(side.name for side in sides)
    widths = dict.fromkeys(str(widest(side.width)) for side in sides)
    return f"{' → '.join(kinds)} {'+'.join(str(side.layers) for side in sides)} × {'/'.join(widths)}"


def widest(width: int | tuple[int, ...]) -> int:
    """Return the largest width: layers may differ, and the description has room for one number."""
    return width if isinstance(width, int) else max(width)


def exports(model: ModelConfig) -> str:
    against = reasons(model, "ct2")
    if not against:
        return "ct2"
    return ("" if reasons(model, "onnx") else "onnx; ") + f"not to ct2: {' · '.join(against)}"


def units(text: TextConfig, vocabulary: Sequence[int]) -> str:
    if text.is_joint:
        needed = f", more than text.size={text.size}: they need as many" if vocabulary[0] > text.size else ""
        return f"{vocabulary[0]:,} {text.kind} units for both sides{needed}"
    src, tgt = text.src_units.kind, text.tgt_units.kind
    return f"{vocabulary[0]:,} {src} source units, {vocabulary[1]:,} {tgt} target units"
