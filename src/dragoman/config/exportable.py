"""Checks, before training, of which models can be exported to which engine.

CTranslate2 4.8.4 was tested with a random model for each Transformer option: all outputs match ours except
with windowed attention, also where encoder and decoder differ in width, heads, norm or positions. Character
embeddings are ordinary rows once a model is trained, and a sampled head is an ordinary softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.config.model import ModelConfig
from dragoman.config.parts.embedding import FramePart
from dragoman.config.parts.head import AdaptiveHeadPart, FrameHeadPart, StateHeadPart
from dragoman.config.parts.transformer import TransformerPart

NO_FILES = "{} of pictures, sounds or numbers (it runs with PyTorch)"


def reasons(model: ModelConfig, target: str) -> list[str]:
    """Return why this model cannot be exported to `target`, one clause per option; empty if it can."""
    return list(TARGETS[target](model))


def _ct2(model: ModelConfig) -> Iterator[str]:
    elsewhere = "" if any(_onnx(model)) else "; use ONNX"
    if isinstance(model.head, FrameHeadPart | StateHeadPart):
        yield f"{model.head.kind} head (ct2 runs only models that translate{elsewhere})"
        return
    if not model.encoder.reads_source:
        yield f"no encoder (ct2 runs only models that translate{elsewhere})"
        return
    if isinstance(model.src_embedding, FramePart):
        yield NO_FILES.format(model.src_embedding.kind)
        return
    for side, part in (("encoder", model.encoder), ("decoder", model.decoder)):
        if not isinstance(part, TransformerPart):
            yield f"{part.name} {side} (ct2 runs only Transformers{elsewhere})"
        elif part.window is not None:
            yield f"window of {part.window} in the {side} (in ct2 a token attends to all others)"
    epsilons = {p.norm_eps for p in (model.encoder, model.decoder) if isinstance(p, TransformerPart)}
    if len(epsilons) > 1:
        yield "norm_eps that differs between encoder and decoder (ct2 has one for both)"
    if isinstance(model.head, AdaptiveHeadPart):
        yield "adaptive head (ct2 has one softmax over all tokens)"


def _onnx(model: ModelConfig) -> Iterator[str]:
    if not model.head.reads_decoder:  # taggers, classifiers and CTC, with any encoder
        return
    if isinstance(model.head, FrameHeadPart):
        yield f"{model.head.kind} head (its decoder ranks what CTC reads, which runs with PyTorch)"
        return
    if not model.encoder.reads_source:  # language models
        if isinstance(model.decoder, TransformerPart) and model.decoder.window is not None:
            yield f"window of {model.decoder.window} (the steps of an export see all tokens)"
        return
    if isinstance(model.src_embedding, FramePart):
        yield NO_FILES.format(model.src_embedding.kind)
        return
    for side, part in (("encoder", model.encoder), ("decoder", model.decoder)):
        if isinstance(part, TransformerPart):
            yield f"{part.name} {side} (use ct2 for a Transformer on both sides)"


TARGETS: dict[str, Callable[[ModelConfig], Iterator[str]]] = {"ct2": _ct2, "onnx": _onnx}
