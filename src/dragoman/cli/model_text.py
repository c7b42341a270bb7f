"""Descriptions of a model: its network, its vocabulary and its export formats."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.cli.format import plural
from dragoman.config.exportable import reasons
from dragoman.config.model import ModelConfig
from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config

HEADS = {
    "tags": "a softmax for each word",
    "crf": "a conditional random field",
    "ctc": "CTC",
    "label": "a softmax over labels",
}


def in_full(model: ModelConfig) -> str:
    """Return the parts and their sizes: transformer, 3+3 layers × width 256, 4 heads"""
    encoder, decoder = model.encoder, model.decoder
    if len(model.parts) == 2 and (encoder.name, encoder.shape) == (decoder.name, decoder.shape):
        return f"{encoder.name}, {encoder.layers}+{decoder.layers} layers × {encoder.shape}" + labels(model)
    is_alone = not model.encoder.reads_source
    sides = [
        f"{side.name}, {plural(side.layers, 'layer')} × {side.shape_alone if is_alone else side.shape}"
        for side in model.parts.values()
    ]
    return " → ".join(sides) + labels(model)


def labels(model: ModelConfig) -> str:
    """Return how labels are made of the states of the encoder, if they are."""
    if model.head.reads_decoder:
        return ""
    pooled = f" → {model.pooling.kind} pooling" if model.head.kind == "label" else ""
    joint = f", and a label by {model.pooling.kind} pooling" if getattr(model.head, "label", False) else ""
    return f"{pooled} → {HEADS[model.head.kind]}{joint}"


def in_short(model: ModelConfig) -> str:
    """Return a short description: transformer 3+3 × 256"""
    sides = list(model.parts.values())
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


def units(config: Config, vocabulary: Sequence[int]) -> str:
    text, source = config.text, config.data.source
    if not isinstance(source, TextSource):
        return f"{source.kind} sources, {vocabulary[1]:,} {text.tgt_units.kind} target units"
    if not config.model.encoder.reads_source:
        return f"{vocabulary[1]:,} {text.tgt_units.kind} units"
    if text.is_joint:
        needed = f", more than text.size={text.size}: they need as many" if vocabulary[0] > text.size else ""
        return f"{vocabulary[0]:,} {text.kind} units for both sides{needed}"
    src, tgt = text.src_units.kind, text.tgt_units.kind
    return f"{vocabulary[0]:,} {src} source units, {vocabulary[1]:,} {tgt} target units"
