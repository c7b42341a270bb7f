"""Which source tokens an output depends on: input × gradient, integrated gradients, occlusion.

All three explain log p(y_t | y_<t, x) by the embeddings of x. The last two compare a token with <unk> at its
place; </s> stays, and its score is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from dragoman.inspection.attention import matrix
from dragoman.inspection.data import Saliency
from dragoman.models.encoders.rnn import ReversedEncoder
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.cells.cell import Cell
from dragoman.protocols import Batch
from dragoman.shapes import Float, Int, Tensor
from dragoman.text.specials import EOS, UNK

ROWS = 256  # sentences of a batch
POINTS = (16, 32, 64, 128, 256, 512)  # of the integral, until it is complete
COMPLETE = 0.01  # relative gap


def saliencies(
    network: Seq2Seq, batch: Batch, source: Sequence[str], output: Sequence[str]
) -> tuple[Saliency, ...]:
    """Return the scores of all methods for a batch of one sentence without padding."""
    sides = tuple(output), tuple(source)
    with differentiable(network):
        integrated, gap = integrated_gradients(network, batch)
        return (
            Saliency("input × gradient", *sides, matrix(input_gradients(network, batch))),
            Saliency("integrated gradients", *sides, matrix(integrated), gap),
            Saliency("occlusion", *sides, matrix(occlusion(network, batch))),
        )


def input_gradients(network: Seq2Seq, batch: Batch) -> Float[Tensor, "T S"]:
    """Return e_i · ∂ log p(y_t) / ∂e_i for each output token t and source token i."""
    e, T = embeddings(network, batch.src, batch.src_keep), batch.tgt_out.shape[1]
    gradient = gradients(network, batch, e.expand(T, -1, -1), torch.arange(T))
    return in_source_order(network, (gradient * e).sum(dim=2))


def integrated_gradients(network: Seq2Seq, batch: Batch) -> tuple[Float[Tensor, "T S"], float]:
    """Return (e_i − e'_i) · ∫ ∂ log p(y_t) / ∂e_i da over e' + a (e − e') for a from 0 to 1, where e' is
    <unk> (Sundararajan et al. 2017, eq. 1), and how far the sums of the rows are from the difference of
    log p(y_t) at both ends, relative to it.

    Gauss–Legendre quadrature, with more points until the sums are complete.
    """
    e = embeddings(network, batch.src, batch.src_keep)
    start = embeddings(network, unknown(batch.src), batch.src_keep)
    before, after = token_log_p(network, batch, torch.cat((start, e))).detach()
    difference = after - before
    for points in POINTS:
        scores = ((e - start) * mean_gradient(network, batch, start, e, points)).sum(dim=2)
        gap = float((scores.sum(dim=1) - difference).norm() / difference.norm().clamp(min=1e-12))
        if gap < COMPLETE:
            break
    return in_source_order(network, scores), gap


def occlusion(network: Seq2Seq, batch: Batch) -> Float[Tensor, "T S"]:
    """Return log p(y_t | x) − log p(y_t | x with <unk> instead of x_i)."""
    S = batch.src.shape[1]
    hidden = torch.where(
        torch.eye(S, dtype=torch.bool, device=batch.src.device), unknown(batch.src), batch.src
    )
    sources = torch.cat((batch.src, hidden))
    with torch.no_grad():
        found = [
            written_log_p(network, repeated(batch, len(part))._replace(src=part))
            for part in sources.split(ROWS)
        ]
    log_p = torch.cat(found)
    return (log_p[0] - log_p[1:]).t()


def mean_gradient(
    network: Seq2Seq, batch: Batch, start: Float[Tensor, "1 S E"], end: Float[Tensor, "1 S E"], points: int
) -> Float[Tensor, "T S E"]:
    """Return the mean of the gradients of each log p(y_t) along the line between two sources."""
    T = batch.tgt_out.shape[1]
    nodes, weights = (torch.tensor(x).to(end) for x in np.polynomial.legendre.leggauss(points))
    total = end.new_zeros(T, *end.shape[1:])
    row_a, row_weight = ((nodes + 1) / 2).repeat(T), (weights / 2).repeat(T)
    row_t = torch.arange(T, device=end.device).repeat_interleave(points)
    for a, weight, t in zip(*(x.split(ROWS) for x in (row_a, row_weight, row_t)), strict=True):
        rows = start + a.view(-1, 1, 1) * (end - start)
        total.index_add_(0, t, weight.view(-1, 1, 1) * gradients(network, batch, rows, t))
    return total


def gradients(
    network: Seq2Seq, batch: Batch, e: Float[Tensor, "N S E"], t: Int[Tensor, " N"]
) -> Float[Tensor, "N S E"]:
    """Return ∂ log p(y_t) / ∂e of each row, for the t of the row."""
    e = e.detach().clone().requires_grad_()
    with torch.enable_grad():
        log_p = token_log_p(network, batch, e)
        (gradient,) = torch.autograd.grad(log_p[torch.arange(len(t)), t].sum(), e)
    return gradient


def token_log_p(network: Seq2Seq, batch: Batch, e: Float[Tensor, "N S E"]) -> Float[Tensor, "N T"]:
    """Return log p of each output token, for sources with the embeddings e."""
    hook = embedding_of(network).register_forward_hook(lambda module, given, output: e)
    try:
        return written_log_p(network, repeated(batch, len(e)))
    finally:
        hook.remove()


def written_log_p(network: Seq2Seq, batch: Batch) -> Float[Tensor, "N T"]:
    return network.log_p(batch).gather(2, batch.tgt_out.unsqueeze(2)).squeeze(2)


def embeddings(
    network: Seq2Seq, src: Int[Tensor, "B S"], keep: Float[Tensor, "B S"]
) -> Float[Tensor, "B S E"]:
    """Return what the layers of the encoder read, in the order in which they read it."""
    found: list[Tensor] = []
    hook = embedding_of(network).register_forward_hook(lambda module, given, output: found.append(output))
    try:
        with torch.no_grad():
            network.encoder(src, keep)
    finally:
        hook.remove()
    return found[0]


def embedding_of(network: Seq2Seq) -> nn.Module:
    """Return the module that embeds the source: every encoder has one."""
    is_reversed = isinstance(network.encoder, ReversedEncoder)
    return network.get_submodule("encoder.reader.embed" if is_reversed else "encoder.embed")


def in_source_order(network: Seq2Seq, scores: Float[Tensor, "T S"]) -> Float[Tensor, "T S"]:
    return scores.flip(1) if isinstance(network.encoder, ReversedEncoder) else scores


def unknown(src: Int[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    return torch.where(src == EOS, src, UNK)


def repeated(batch: Batch, rows: int) -> Batch:
    return Batch(*(x.expand(rows, *x.shape[1:]) for x in batch[:5]))


@contextmanager
def differentiable(network: nn.Module) -> Iterator[None]:
    """Let the fused kernels of cells keep what their gradients need, which they do in training only."""
    cells = [module for module in network.modules() if isinstance(module, Cell) and not module.training]
    for cell in cells:
        cell.training = True
    try:
        yield
    finally:
        for cell in cells:
            cell.training = False
