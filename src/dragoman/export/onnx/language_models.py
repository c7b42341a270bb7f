"""The ONNX graphs of a language model: those of its steps, and one that scores whole texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.export import Dim

from dragoman.export.onnx.graphs import ROWS, WIDTH, Tensors, write, write_state
from dragoman.export.onnx.trace import trace
from dragoman.export.onnx.traceable import FromZero, replace, traceable
from dragoman.inference.runtimes.onnx_file import ENCODER, SCORE, STEP
from dragoman.models.decoders.causal_transformer import CausalTransformer
from dragoman.models.decoders.transformer import TransformerDecoderCache
from dragoman.models.language_model import LanguageModel
from dragoman.nn.attention.multi_head import KeyValue
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.protocols import State
from dragoman.shapes import Bool, Float, Int, Tensor
from dragoman.text.specials import EOS

LENGTH = 7  # of the example texts


class Scoring(nn.Module):
    """A graph from a text to log p of each of its tokens."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, before: Int[Tensor, "B T"], y: Int[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        return self.model.token_log_p(before, y)

    if TYPE_CHECKING:
        __call__ = forward


class EmptyCache(nn.Module):
    """A graph from any source to the keys and values of no tokens."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, src: Int[Tensor, "B S"], keep: Bool[Tensor, "B S"]) -> Tensors:
        return flat(self.model.start(src, keep, 1))

    if TYPE_CHECKING:
        __call__ = forward


class CachedStep(nn.Module):
    """A graph from a token of each hypothesis, and the keys and values of those before it, to log p.

    The tensors are B × W × H × P × K, where P is the number of tokens so far.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, y: Int[Tensor, "B W"], tensors: Tensors) -> Tensors:
        shape, rows = (y.shape[0], y.shape[1]), [x.flatten(0, 1) for x in tensors]
        past = [KeyValue(k, v) for k, v in zip(rows[::2], rows[1::2], strict=True)]
        state = State((), TransformerDecoderCache(tensors[0].shape[3], past))
        log_p, state, _ = self.model.step(y.flatten(), state)
        return tuple(x.unflatten(0, shape) for x in (log_p, *flat(state)))

    if TYPE_CHECKING:
        __call__ = forward


def flat(state: State) -> Tensors:
    return tuple(x for kv in state.moving.past for x in (kv.k, kv.v))


@torch.no_grad()
def write_language_model(model: LanguageModel, longest: int, folder: Path) -> None:
    """Write the graphs of a model of texts with at most `longest` tokens."""
    if isinstance(model.decoder, CausalTransformer):
        write_cached(model, longest, folder)
    else:
        write(model, longest, folder)
    scoring = traceable(model)
    replace(scoring, lambda module: FromZero(module) if isinstance(module, RecurrentLayer) else None)
    text = torch.full((ROWS, LENGTH), EOS)
    axes = {0: Dim("B"), 1: Dim("T", max=longest)}
    trace(Scoring(scoring), (text, text.clone()), (axes, axes), (["before", "y"], ["log_p"]), folder / SCORE)


def write_cached(model: LanguageModel, longest: int, folder: Path) -> None:
    """Write the graphs of the steps of a Transformer, whose state grows."""
    traced, y = traceable(model), torch.full((ROWS, WIDTH), EOS)
    keep = torch.ones_like(y, dtype=torch.bool)
    empty = flat(model.start(y, keep, 1))
    names, nexts = ([f"{word}_{number}" for number in range(len(empty))] for word in ("moving", "next"))
    B, S, W, P = Dim("B"), Dim("S"), Dim("W"), Dim("P", max=longest - 1)
    source = {0: B, 1: S}
    trace(EmptyCache(traced), (y, keep), (source, source), (["src", "keep"], names), folder / ENCODER)
    past = tuple(x.new_zeros(ROWS, WIDTH, x.shape[1], LENGTH, x.shape[3]) for x in empty)
    axes = ({0: B, 1: W}, tuple({0: B, 1: W, 3: P} for _ in past))
    trace(CachedStep(traced), (y, past), axes, (["y", *names], ["log_p", *nexts]), folder / STEP)
    write_state(folder, [], dict(zip(names, nexts, strict=True)), attends=False)
