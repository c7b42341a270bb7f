"""The LSTM and its variants without a torch kernel, run over a sequence with a hand-written gradient.

A fast equivalent of `cells.unroll`: W_x x + b is one product for the whole sequence, and so is the gradient
of W_h. Only what depends on the previous step is in the loop, and no intermediate result is stored twice.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from dragoman.nn.cells.cell import CellState
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.shapes import Float, Tensor

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


@runtime_checkable
class Gates(Protocol):
    """The elementwise part of a cell. `z` holds the gates of one step, o last; `p` holds the peepholes."""

    def forwards(
        self, z: Float[Tensor, "B G"], c: Float[Tensor, "B D"], p: Float[Tensor, "P D"]
    ) -> Float[Tensor, "B D"]:
        """Return c' from the previous c, and apply the activations to `z` in place."""

    def backwards(
        self,
        z: Float[Tensor, "B G"],
        c: Float[Tensor, "B D"],
        p: Float[Tensor, "P D"],
        dc: Float[Tensor, "B D"],
        dz: Float[Tensor, "B G"],
    ) -> Float[Tensor, "B D"]:
        """Return the gradient of the previous c from that of c', and complete `dz`, which holds that of o."""


class LSTMGates:
    def forwards(
        self, z: Float[Tensor, "B G"], c: Float[Tensor, "B D"], p: Float[Tensor, "P D"]
    ) -> Float[Tensor, "B D"]:
        D = c.shape[1]
        i, f, g, o = z.chunk(4, dim=1)
        z[:, : 2 * D].sigmoid_()
        o.sigmoid_()
        return (f * c).addcmul_(i, g.tanh_())

    def backwards(
        self,
        z: Float[Tensor, "B G"],
        c: Float[Tensor, "B D"],
        p: Float[Tensor, "P D"],
        dc: Float[Tensor, "B D"],
        dz: Float[Tensor, "B G"],
    ) -> Float[Tensor, "B D"]:
        i, f, g, _ = z.chunk(4, dim=1)
        di, df, dg, _ = dz.chunk(4, dim=1)
        _sigmoid_backward(dc * g, i, grad_input=di)
        _sigmoid_backward(dc * c, f, grad_input=df)
        _tanh_backward(dc * i, g, grad_input=dg)
        return dc.mul_(f)


class PeepholeGates:
    def forwards(
        self, z: Float[Tensor, "B G"], c: Float[Tensor, "B D"], p: Float[Tensor, "P D"]
    ) -> Float[Tensor, "B D"]:
        i, f, g, o = z.chunk(4, dim=1)
        i.addcmul_(p[0], c).sigmoid_()
        f.addcmul_(p[1], c).sigmoid_()
        new = (f * c).addcmul_(i, g.tanh_())
        o.addcmul_(p[2], new).sigmoid_()
        return new

    def backwards(
        self,
        z: Float[Tensor, "B G"],
        c: Float[Tensor, "B D"],
        p: Float[Tensor, "P D"],
        dc: Float[Tensor, "B D"],
        dz: Float[Tensor, "B G"],
    ) -> Float[Tensor, "B D"]:
        i, f, g, _ = z.chunk(4, dim=1)
        di, df, dg, do = dz.chunk(4, dim=1)
        dc.addcmul_(do, p[2])
        _sigmoid_backward(dc * g, i, grad_input=di)
        _sigmoid_backward(dc * c, f, grad_input=df)
        _tanh_backward(dc * i, g, grad_input=dg)
        return dc.mul_(f).addcmul_(di, p[0]).addcmul_(df, p[1])


class CoupledGates:
    def forwards(
        self, z: Float[Tensor, "B G"], c: Float[Tensor, "B D"], p: Float[Tensor, "P D"]
    ) -> Float[Tensor, "B D"]:
        f, g, o = z.chunk(3, dim=1)
        o.sigmoid_()
        return torch.lerp(g.tanh_(), c, f.sigmoid_())

    def backwards(
        self,
        z: Float[Tensor, "B G"],
        c: Float[Tensor, "B D"],
        p: Float[Tensor, "P D"],
        dc: Float[Tensor, "B D"],
        dz: Float[Tensor, "B G"],
    ) -> Float[Tensor, "B D"]:
        f, g, _ = z.chunk(3, dim=1)
        df, dg, _ = dz.chunk(3, dim=1)
        _sigmoid_backward(dc * (c - g), f, grad_input=df)
        dc_f = dc * f
        _tanh_backward(dc - dc_f, g, grad_input=dg)
        return dc_f


class _Sweep(torch.autograd.Function):
    """h_1 … h_T and c_1 … c_T from a = W_x x + b, time first. h' = o ⊙ tanh(c') for all gates."""

    @staticmethod
    def forward(
        ctx: Any, gates: Gates, a: Tensor, W_h: Tensor, p: Tensor, h: Tensor, c: Tensor
    ) -> tuple[Tensor, Tensor]:
        z, size = torch.empty_like(a), h.shape[1]
        hs, cs, tanh_c = (a.new_empty(*a.shape[:2], size) for _ in range(3))
        first = (h, c)
        for t in range(a.shape[0]):
            torch.addmm(a[t], h, W_h.t(), out=z[t])
            c = cs[t].copy_(gates.forwards(z[t], c, p))
            h = torch.mul(z[t, :, -size:], torch.tanh(c, out=tanh_c[t]), out=hs[t])
        ctx.gates = gates
        ctx.save_for_backward(W_h, p, *first, z, hs, cs, tanh_c)
        ctx.set_materialize_grads(False)
        return hs, cs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_h: Tensor | None, grad_c: Tensor | None) -> tuple[Tensor | None, ...]:
        W_h, p, h, c, z, hs, cs, tanh_c = ctx.saved_tensors
        dz, size = torch.empty_like(z), h.shape[1]
        dh, dc = torch.zeros_like(h), torch.zeros_like(c)
        for t in reversed(range(z.shape[0])):
            if grad_h is not None:
                dh = dh.add_(grad_h[t])
            if grad_c is not None:
                dc = dc.add_(grad_c[t])
            o = z[t, :, -size:]
            _sigmoid_backward(dh * tanh_c[t], o, grad_input=dz[t, :, -size:])
            dc = dc.add_(_tanh_backward(dh * o, tanh_c[t]))
            dc = ctx.gates.backwards(z[t], cs[t - 1] if t else c, p, dc, dz[t])
            dh = dz[t] @ W_h  # (B G) @ (G D) = (B D)
        before = torch.cat((h.unsqueeze(0), hs[:-1]))
        dW_h = dz.flatten(0, 1).t() @ before.flatten(0, 1)  # (G TB) @ (TB D) = (G D)
        return None, dz, dW_h, _peephole_gradient(dz, c, cs, p), dh, dc


def _peephole_gradient(
    dz: Float[Tensor, "T B G"], c: Float[Tensor, "B D"], cs: Float[Tensor, "T B D"], p: Float[Tensor, "P D"]
) -> Float[Tensor, "P D"]:
    if not len(p):
        return p
    di, df, _, do = dz.chunk(4, dim=2)
    before = torch.cat((c.unsqueeze(0), cs[:-1]))
    return torch.stack([(d * seen).sum(dim=(0, 1)) for d, seen in ((di, before), (df, before), (do, cs))])


def sweep(
    cell: LSTMCell | PeepholeLSTMCell | CoupledLSTMCell, x: Float[Tensor, "B T X"], state: CellState
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
    """Return all h and all c of a sequence."""
    none = cell.b.new_empty(0, cell.size)
    gates: Gates
    match cell:
        case LSTMCell():
            gates, p = LSTMGates(), none
        case CoupledLSTMCell():
            gates, p = CoupledGates(), none
        case PeepholeLSTMCell():
            gates, p = PeepholeGates(), cell.p
    a = F.linear(x.transpose(0, 1), cell.W_x, cell.b)
    given = (x.to(a.dtype) for x in (cell.W_h, p, state.h, state.c))  # in bf16 under autocast
    hs, cs = _Sweep.apply(gates, a, *given)  # type: ignore[no-untyped-call]
    return hs.transpose(0, 1), cs.transpose(0, 1)
