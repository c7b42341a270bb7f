"""The ONNX graph of a network without a decoder: a source → what the network says about it, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.export import Dim

from dragoman.config.parts.source import TextSource
from dragoman.config.root import Config
from dragoman.export.onnx.trace import trace
from dragoman.export.onnx.traceable import traceable
from dragoman.inference.runtimes.onnx_file import NETWORK
from dragoman.models.classifier import Classifier
from dragoman.models.ctc import CTC
from dragoman.models.tagger import JointTagger, Tagger
from dragoman.shapes import Bool, Shaped, Tensor
from dragoman.text.specials import EOS

ROWS, LENGTH, LETTERS = 3, 24, 5  # of the example input: different sizes, none of them 1
AtOnce = Classifier | Tagger | JointTagger | CTC  # networks that answer in one step


class Answering(nn.Module):
    """A graph from a source to the outputs of the network."""

    def __init__(self, model: AtOnce) -> None:
        super().__init__()
        self.model = model

    def forward(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"]) -> tuple[Tensor, ...]:
        return tuple(self.model.outputs(src, keep).values())

    if TYPE_CHECKING:
        __call__ = forward


@torch.no_grad()
def write_network(model: AtOnce, config: Config, folder: Path) -> None:
    src = example(config)
    keep = torch.ones(src.shape[:2], dtype=torch.bool)
    names = [*model.outputs(src, keep)]
    B, S = Dim("B"), Dim("S", max=longest(config))
    axes = {0: B, 1: S} | ({2: Dim("C")} if config.text.src_units.kind == "spelled" else {})
    trace(
        Answering(traceable(model)),
        (src, keep),
        (axes, {0: B, 1: S}),
        (["src", "keep"], names),
        folder / NETWORK,
    )


def example(config: Config) -> Tensor:
    """Return a source: tokens, spelled words, or frames."""
    source = config.data.source
    if not isinstance(source, TextSource):
        return torch.rand(ROWS, LENGTH, source.frame_features)
    letters = [LETTERS] if config.text.src_units.kind == "spelled" else []
    return torch.full((ROWS, LENGTH, *letters), EOS)


def longest(config: Config) -> int:
    """Return the largest number of tokens or frames, which the positions of a network limit."""
    source = config.data_of_run.source
    return config.model.longest_source + 1 if isinstance(source, TextSource) else source.max_frames
