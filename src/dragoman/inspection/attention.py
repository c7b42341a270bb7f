"""The attention weights of every layer and head, from what a capture heard of one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch import nn

from dragoman.inspection.capture import Capture
from dragoman.inspection.data import AttentionKind, AttentionLayer, Matrix, Vector
from dragoman.models.decoders.attention import DecoderAttention
from dragoman.nn.attention.multi_head import CrossAttention, SelfAttention
from dragoman.nn.conv.attention import MultiStepAttention
from dragoman.shapes import Float, Tensor
from dragoman.text.specials import BOS, SPECIALS

POOLED = "pooled"  # the one query of a pooling


def attention_layers(
    seen: Capture, source: Sequence[str], output: Sequence[str] = ()
) -> tuple[AttentionLayer, ...]:
    """Return the weights of the first sentence, with the tokens of its source and output, including </s>.

    The query of an output token is the step that wrote it, and has seen the tokens before it.
    """
    before = (SPECIALS[BOS], *output[:-1])
    sides: dict[AttentionKind, tuple[Sequence[str], Sequence[str]]] = {
        "encoder": (source, source),
        "decoder": (output, before),
        "cross": (output, source),
        "pooling": ((POOLED,), source),
    }
    modules, count = dict(seen.network.named_modules()), Counter[AttentionKind]()
    layers = []
    for name, weights in seen.attention.items():
        kind = kind_of(name, modules[name])
        count[kind] += 1
        queries, keys = (labels(*pair) for pair in zip(sides[kind], weights.shape[2:], strict=True))
        heads = tuple(matrix(head) for head in weights[0])
        layers.append(AttentionLayer(kind, count[kind], queries, keys, heads))
    return tuple(layers)


def kind_of(name: str, module: nn.Module) -> AttentionKind:
    match module:
        case CrossAttention() | DecoderAttention() | MultiStepAttention():
            return "cross"
        case SelfAttention():
            return "decoder" if "decoder" in name.split(".") else "encoder"
    return "pooling"


def labels(tokens: Sequence[str], count: int) -> tuple[str, ...]:
    """Return a label for each position: its token, or its number where positions are not tokens."""
    return tuple(tokens) if len(tokens) == count else tuple(str(i) for i in range(1, count + 1))


def vector(x: Float[Tensor, " D"]) -> Vector:
    values: list[float] = x.tolist()
    return tuple(values)


def matrix(x: Float[Tensor, "T S"]) -> Matrix:
    rows: list[list[float]] = x.tolist()
    return tuple(map(tuple, rows))
