"""Which models another engine can run, known before they are trained.

CTranslate2 4.8.4 was given a random model of each choice of a Transformer, and all but windows came out as
ours, also where encoder and decoder differ in width, heads, norm or positions. Embeddings made of characters
are rows like any other once a model is trained, and a sampled head is a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dragoman.config.model import ModelConfig
from dragoman.config.parts.head import AdaptiveHeadPart
from dragoman.config.parts.transformer import TransformerPart


def reasons(model: ModelConfig, target: str) -> list[str]:
    """Why this model cannot go to `target`, a clause a choice; none if it can."""
    return list(TARGETS[target](model))


def _ct2(model: ModelConfig) -> Iterator[str]:
    elsewhere = "" if any(_onnx(model)) else "; this goes to ONNX"
    for side, part in (("encoder", model.encoder), ("decoder", model.decoder)):
        if not isinstance(part, TransformerPart):
            yield f"{part.name} {side} (ct2 runs Transformers{elsewhere})"
        elif part.window is not None:
            yield f"window of {part.window} in the {side} (in ct2 a token sees all others)"
    epsilons = {p.norm_eps for p in (model.encoder, model.decoder) if isinstance(p, TransformerPart)}
    if len(epsilons) > 1:
        yield "norm_eps that differs between encoder and decoder (ct2 has one)"
    if isinstance(model.head, AdaptiveHeadPart):
        yield "adaptive head (ct2 has one softmax over all tokens)"


def _onnx(model: ModelConfig) -> Iterator[str]:
    for side, part in (("encoder", model.encoder), ("decoder", model.decoder)):
        if isinstance(part, TransformerPart):
            yield f"{part.name} {side} (a Transformer on both sides goes to ct2)"


TARGETS: dict[str, Callable[[ModelConfig], Iterator[str]]] = {"ct2": _ct2, "onnx": _onnx}
