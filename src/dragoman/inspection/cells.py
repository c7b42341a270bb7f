"""Gates and states of recurrent cells, and activations of convolutions, over the tokens of one sentence.

The fused kernels that run a cell over a sequence return its outputs only. Gates are computed by the cell's
own equation: in an encoder from what its layers read, and in a decoder while it steps through the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from dragoman.inspection.attention import labels, matrix
from dragoman.inspection.capture import Capture
from dragoman.inspection.data import CellTrace
from dragoman.models.encoders.rnn import ReversedEncoder
from dragoman.models.language_model import LanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.unroll import unroll
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.protocols import Batch
from dragoman.search.forced import forced_steps
from dragoman.shapes import Float, Tensor

DECODER = "decoder"


class CellStep(NamedTuple):
    """The gates of one step, and the state they made."""

    gates: dict[str, Tensor]
    state: CellState


@contextmanager
def recorded(cells: Mapping[str, Cell]) -> Iterator[dict[str, list[CellStep]]]:
    """Record every step of these cells, by their names.

    A step calls the method `gate`, not the module, so it has no forward hook. The method is shadowed on the
    instance instead, until the end of the context.
    """
    steps: dict[str, list[CellStep]] = {name: [] for name in cells}

    def shadow(name: str, cell: Cell) -> None:
        def gate(a: Float[Tensor, "B G"], state: CellState) -> CellState:
            new = type(cell).gate(cell, a, state)
            steps[name].append(CellStep(cell.gates(a, state), new))
            return new

        object.__setattr__(cell, "gate", gate)

    for name, cell in cells.items():
        shadow(name, cell)
    try:
        yield steps
    finally:
        for cell in cells.values():
            object.__delattr__(cell, "gate")


@torch.no_grad()
def encoder_traces(seen: Capture, source: Sequence[str]) -> list[CellTrace]:
    """Return the traces of the cells of the encoder, from what its layers read of the first sentence."""
    modules = dict(seen.network.named_modules())
    backwards = [name for name, module in modules.items() if isinstance(module, ReversedEncoder)]
    traces = []
    for name, layer in modules.items():
        if name.startswith(DECODER) or name not in seen.calls:
            continue
        x = seen.inputs[name][:1]
        is_reversed = any(name.startswith(f"{outer}.") for outer in backwards)
        match layer:
            case RecurrentLayer():
                traces.append(replay(f"{name}.cell", layer.cell, x, source, (False, is_reversed)))
            case BidirectionalLayer():
                traces.append(replay(f"{name}.right", layer.right, x, source, (False, is_reversed)))
                traces.append(replay(f"{name}.left", layer.left, x, source, (True, not is_reversed)))
    return traces


def replay(
    name: str, cell: Cell, x: Float[Tensor, "1 S X"], source: Sequence[str], turned: tuple[bool, bool]
) -> CellTrace:
    """Run a cell over x from a zero state. `turned` says whether it reads x from its end, and whether the
    result is then from the end of the source."""
    reads_from_end, ends_at_start = turned
    with recorded({name: cell}) as steps:
        unroll(cell, x.flip(1) if reads_from_end else x, cell.zero(1))
    order = steps[name][::-1] if ends_at_start else steps[name]
    return trace(name, cell, order, labels(source, len(order)))


@torch.no_grad()
def decoder_traces(network: Seq2Seq | LanguageModel, batch: Batch, output: Sequence[str]) -> list[CellTrace]:
    """Return the traces of the cells of the decoder, which steps through the output of one sentence."""
    layers = {n: m for n, m in network.named_modules(remove_duplicate=False) if isinstance(m, RecurrentLayer)}
    cells = {f"{n}.cell": layer.cell for n, layer in layers.items() if n.startswith(DECODER)}
    with recorded(cells) as steps:
        for _ in forced_steps(network, batch.src, batch.src_keep, batch.tgt_out):
            pass
    # A cell that is shared with the encoder has stepped through the source before.
    return [trace(name, cell, steps[name][-len(output) :], tuple(output)) for name, cell in cells.items()]


def convolution_traces(seen: Capture, source: Sequence[str], output: Sequence[str] = ()) -> list[CellTrace]:
    """Return the outputs v([A B]) of the gated convolutions."""
    traces = []
    for name, module in seen.network.named_modules():
        if isinstance(module, GatedConvolution) and name in seen.calls:
            values = matrix(seen.outputs[name][0])
            tokens = output if name.startswith(DECODER) else source
            traces.append(
                CellTrace(name, "gated convolution", labels(tokens, len(values)), states={"v": values})
            )
    return traces


def trace(name: str, cell: nn.Module, steps: Sequence[CellStep], tokens: tuple[str, ...]) -> CellTrace:
    letters = [letter for letter in steps[0].gates if letter != "c"]  # the state, which has it too
    gates = {letter: matrix(torch.cat([s.gates[letter] for s in steps])) for letter in letters}
    states = {"h": matrix(torch.cat([s.state.h for s in steps]))}
    if steps[0].state.c.shape[1]:
        states["c"] = matrix(torch.cat([s.state.c for s in steps]))
    return CellTrace(name, type(cell).__name__.removesuffix("Cell"), tokens, gates, states)
