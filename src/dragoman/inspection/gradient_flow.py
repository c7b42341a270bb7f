"""How far a gradient reaches: the norm of the loss's gradient at each layer and time step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from dragoman.inspection.attention import labels
from dragoman.inspection.capture import Capture, LayerCall
from dragoman.inspection.data import GradientFlow, GradientLayer
from dragoman.inspection.saliency import written_log_p
from dragoman.models.encoders.rnn import ReversedEncoder
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.recurrent.bidirectional import BidirectionalLayer
from dragoman.nn.recurrent.layer import RecurrentLayer
from dragoman.protocols import Batch
from dragoman.shapes import Float, Tensor

# A convolution is inside a layer; what a recurrent layer returns has no gradient through time.
NOT_STACKED = (GatedConvolution, RecurrentLayer, BidirectionalLayer)


class UnrolledCell(Cell):
    """A cell that no fused kernel knows: it is run step by step, and each of its states is kept.

    A kernel returns h_1 … h_T as one tensor, whose gradient lacks what reaches h_t through later states.
    """

    def __init__(self, cell: Cell) -> None:
        nn.Module.__init__(self)
        self.cell = cell
        self.size, self.W_x, self.W_h, self.b = cell.size, cell.W_x, cell.W_h, cell.b
        self.states: list[CellState] = []

    def begin(self, h: Float[Tensor, "B D"]) -> CellState:
        return self.cell.begin(h)

    def gate(self, a: Float[Tensor, "B G"], state: CellState) -> CellState:
        self.states.append(self.cell.gate(a, state))
        return self.states[-1]

    @staticmethod
    def parts(state: CellState) -> list[Tensor]:
        """Return h, and c unless it is empty."""
        return [x for x in state if x.shape[1]]


@contextmanager
def unrolled(network: nn.Module) -> Iterator[dict[str, UnrolledCell]]:
    """Replace the cells of a network until the end of the context; return them by their names."""
    layers = {n: m for n, m in network.named_modules() if isinstance(m, RecurrentLayer | BidirectionalLayer)}
    found = {
        f"{name}.{place}": (layer, place, UnrolledCell(child))
        for name, layer in layers.items()
        for place, child in layer.named_children()
        if isinstance(child, Cell)
    }
    for layer, place, cell in found.values():
        setattr(layer, place, cell)
    try:
        yield {name: cell for name, (_, _, cell) in found.items()}
    finally:
        for layer, place, cell in found.values():
            setattr(layer, place, cell.cell)


def gradient_flow(
    network: Seq2Seq, batch: Batch, source: Sequence[str], output: Sequence[str]
) -> GradientFlow:
    """Return ‖∂L/∂h_t‖₂ of each layer for L = −log p(output) of a batch of one sentence.

    Of a recurrent layer, h_t is the state of each of its cells, with c_t if it has one: the gradient has come
    back through all later states.
    """
    with unrolled(network) as cells, torch.enable_grad(), Capture(network) as seen:
        loss = -written_log_p(network, batch).sum()
    modules = dict(network.named_modules())
    calls = {n: calls for n, calls in seen.calls.items() if not isinstance(modules[n], NOT_STACKED)}
    nodes = {name: [call.y for call in mine] for name, mine in calls.items()}
    nodes |= {name: [x for state in cell.states for x in cell.parts(state)] for name, cell in cells.items()}
    found = torch.autograd.grad(loss, [x for mine in nodes.values() for x in mine], allow_unused=True)
    gradients = iter(found)
    layers = []
    for name, mine in calls.items():
        norms = torch.cat([norm(call, next(gradients)) for call in mine])
        layers.append(layer_of(name, norms, source, output))
    for name, cell in cells.items():
        norms = torch.stack([state_norm([next(gradients) for _ in cell.parts(s)]) for s in cell.states])
        is_reversed = name.endswith(".left") != (
            isinstance(network.encoder, ReversedEncoder) and name.startswith("encoder")
        )
        norms = norms.flip(0) if is_reversed else norms
        layers.append(layer_of(name, norms, source, output, (recurrent_norm(cell.cell),)))
    return GradientFlow(tuple(layers))


def layer_of(
    name: str,
    norms: Float[Tensor, " T"],
    source: Sequence[str],
    output: Sequence[str],
    recurrent: tuple[float, ...] = (),
) -> GradientLayer:
    tokens = labels(output if name.startswith("decoder") else source, len(norms))
    return GradientLayer(name, tokens, tuple(norms.tolist()), recurrent)


def norm(call: LayerCall, gradient: Tensor | None) -> Float[Tensor, " T"]:
    """Return the norms of one call; 0 where the loss does not depend on it."""
    steps = call.steps(call.y if gradient is None else gradient)[0]
    return steps.new_zeros(len(steps)) if gradient is None else steps.norm(dim=1)


def state_norm(parts: Sequence[Tensor | None]) -> Float[Tensor, ""]:
    """Return the norm of the gradient of a state, (h, c) as one vector."""
    known = [gradient.flatten() for gradient in parts if gradient is not None]
    return torch.cat(known).norm() if known else torch.zeros(())


def recurrent_norm(cell: Cell) -> float:
    """Return ‖W_hh‖₂ of the block that makes new content: an Elman cell's only one, ĉ's or ĥ's of others.

    Of a cell whose blocks are not known, it is the largest.
    """
    blocks = cell.W_h.detach().split(cell.size)
    match cell:
        case LSTMCell() | PeepholeLSTMCell() | GRUCell() | ResetFirstGRUCell():
            return spectral(blocks[2])
        case CoupledLSTMCell():
            return spectral(blocks[1])
        case _:
            return max(map(spectral, blocks))


def spectral(W: Float[Tensor, "D E"]) -> float:
    return float(torch.linalg.matrix_norm(W, 2)) if W.numel() else 0.0
