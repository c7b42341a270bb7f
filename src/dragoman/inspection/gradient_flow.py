"""How far a gradient reaches: the norm of the loss's gradient at each layer and time step."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from dragoman.inspection.attention import labels
from dragoman.inspection.capture import Capture, LayerCall
from dragoman.inspection.data import GradientFlow, GradientLayer
from dragoman.inspection.saliency import differentiable, written_log_p
from dragoman.models.encoders.rnn import ReversedEncoder
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.protocols import Batch
from dragoman.shapes import Float, Tensor


def gradient_flow(
    network: Seq2Seq, batch: Batch, source: Sequence[str], output: Sequence[str]
) -> GradientFlow:
    """Return ‖∂L/∂h_t‖₂ of each layer for L = −log p(output) of a batch of one sentence."""
    with differentiable(network), torch.enable_grad(), Capture(network) as seen:
        loss = -written_log_p(network, batch).sum()
    modules = dict(network.named_modules())
    calls = {n: c for n, c in seen.calls.items() if not isinstance(modules[n], GatedConvolution)}
    found = torch.autograd.grad(loss, [c.y for cs in calls.values() for c in cs], allow_unused=True)
    gradients = iter(found)
    layers = []
    for name, mine in calls.items():
        norms = torch.cat([norm(call, next(gradients)) for call in mine]).tolist()
        if isinstance(network.encoder, ReversedEncoder) and name.startswith("encoder"):
            norms = norms[::-1]
        tokens = labels(output if name.startswith("decoder") else source, len(norms))
        cells = [m for m in modules[name].modules() if isinstance(m, Cell)]
        layers.append(GradientLayer(name, tokens, tuple(norms), tuple(map(recurrent_norm, cells))))
    return GradientFlow(tuple(layers))


def norm(call: LayerCall, gradient: Tensor | None) -> Float[Tensor, " T"]:
    """Return the norms of one call; 0 where the loss does not depend on it."""
    steps = call.steps(call.y if gradient is None else gradient)[0]
    return steps.new_zeros(len(steps)) if gradient is None else steps.norm(dim=1)


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
