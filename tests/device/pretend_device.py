"""A pretend accelerator for machines without one: tensors that say `far:0` and hold their numbers on the CPU.

Every operation of torch passes `run`. As on CUDA, it raises an error if an operation mixes tensors of both
devices. It counts copies between the devices, and what the host would wait for: values, shapes that depend on
values, and copies that are not `non_blocking`, each with the line of the package that asks for it.

Not covered: streams, NCCL, and the numerics of real kernels.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("far")
torch.far.get_amp_supported_dtype = lambda: [torch.bfloat16]  # type: ignore[attr-defined]

FAR, CPU = torch.device("far:0"), torch.device("cpu")
PACKAGE = "/dragoman/"
aten = torch.ops.aten
INDEXING = {
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}
SHAPE_OF_VALUES = {
    aten.nonzero.default,
    aten.masked_select.default,
    aten.bincount.default,
    aten._unique2.default,
    aten.unique_dim.default,
    aten.unique_consecutive.default,
    aten.repeat_interleave.Tensor,
}

COPIES: Counter[str] = Counter()  # "to the device" or "to the host", and the line
WAITS: Counter[str] = Counter()  # for a value, a shape or a copy, and the line
has_fp64 = [True]


def line_of_caller() -> str:
    frame = sys._getframe(1)
    while frame := frame.f_back:  # type: ignore[assignment]
        file = frame.f_code.co_filename
        if PACKAGE in file and "tests/" not in file:
            return f"{file.rpartition(PACKAGE)[2]}:{frame.f_lineno} {frame.f_code.co_name}"
    return "the backward pass"


class FarTensor(torch.Tensor):
    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> FarTensor:
        made: FarTensor = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=FAR,
        )
        made.inner = inner
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})

    @property
    def data(self) -> Tensor:
        return FarTensor(self.inner)

    @data.setter
    def data(self, new: FarTensor) -> None:
        torch.Tensor.data.__set__(self, new)  # type: ignore[attr-defined]
        self.inner = new.inner

    def tolist(self) -> Any:
        WAITS[f"value: {line_of_caller()}"] += 1
        return self.inner.tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError("can't convert a far:0 tensor to numpy; use Tensor.cpu() first")


def is_far(device: Any) -> bool:
    return device is not None and torch.device(device).type == "far"


def count_copy(func: Any, args: Any, kwargs: Any) -> bool:
    """Count a copy between the devices. Return whether the result is on the pretend device."""
    if func is aten.copy_.default:
        to_far, from_far = isinstance(args[0], FarTensor), isinstance(args[1], FarTensor)
        counts = args[1].ndim > 0 or from_far  # a single number is a parameter of the kernel
    else:
        from_far = isinstance(args[0], FarTensor)
        to_far, counts = from_far if kwargs.get("device") is None else is_far(kwargs["device"]), True
    if counts and to_far != from_far:
        line = line_of_caller()
        COPIES[f"{'to the device' if to_far else 'to the host'}: {line}"] += 1
        is_free = to_far and (args[2:] == (True,) or kwargs.get("non_blocking"))
        if not is_free:
            WAITS[f"copy: {line}"] += 1
    return to_far


def refuse_mix(func: Any, tensors: list[Tensor]) -> None:
    """Raise an error as CUDA does. A single number on the CPU is allowed, but not in lists of tensors."""
    is_list = func.__name__.startswith(("_fused", "_foreach"))
    has_near = any(not isinstance(x, FarTensor) and (x.ndim > 0 or is_list) for x in tensors)
    if has_near and any(isinstance(x, FarTensor) for x in tensors):
        raise RuntimeError(f"Expected all tensors to be on the same device: {func}, {line_of_caller()}")


def count_wait(func: Any, args: Any) -> None:
    if func is aten._local_scalar_dense.default:
        WAITS[f"value: {line_of_caller()}"] += 1
    by_mask = func in INDEXING and any(isinstance(i, Tensor) and i.dtype == torch.bool for i in args[1])
    if by_mask or func in SHAPE_OF_VALUES:
        WAITS[f"shape: {line_of_caller()}"] += 1


def run(func: Any, args: Any, kwargs: Any) -> Any:
    tensors: list[Tensor] = []
    near_args, near_kwargs = near(args, tensors), near(kwargs, tensors)
    has_far = any(isinstance(x, FarTensor) for x in tensors)
    if func in (aten._to_copy.default, aten.copy_.default):
        to_far = count_copy(func, args, kwargs)
    else:
        refuse_mix(func, tensors)
        to_far = has_far or is_far(kwargs.get("device"))
        if has_far:
            count_wait(func, args)
    if is_far(near_kwargs.get("device")):
        near_kwargs["device"] = CPU
    near_kwargs.pop("non_blocking", None)
    if func is aten._local_scalar_dense.default:
        return func(*near_args, **near_kwargs)
    with torch.inference_mode(mode=False), torch.no_grad():
        out = FUSED_CELLS.get(func, func)(*near_args, **near_kwargs)
    if torch.Tag.inplace_view in func.tags and has_far:  # transpose_ and the like: turn the wrapper, too
        with torch._C._DisableTorchDispatch():  # type: ignore[attr-defined]
            func(*args, **kwargs)
    known = {id(x.inner): x for x in tensors if isinstance(x, FarTensor)}  # results of in-place operations
    with torch.inference_mode(mode=False):
        return wrap(out, known) if to_far else out


def near(x: Any, tensors: list[Tensor]) -> Any:
    """Return arguments with the tensors of the CPU in place of ours; append all tensors to the list."""
    if isinstance(x, Tensor):
        tensors.append(x)
        return x.inner if isinstance(x, FarTensor) else x
    if isinstance(x, dict):
        return {key: near(value, tensors) for key, value in x.items()}
    return type(x)([near(part, tensors) for part in x]) if type(x) in (tuple, list) else x


def wrap(x: Any, known: dict[int, FarTensor]) -> Any:
    """Return a result on the pretend device."""
    if isinstance(x, Tensor):
        if not has_fp64[0] and x.dtype == torch.float64:
            raise TypeError(f"far:0 has no fp64: {line_of_caller()}")
        return known[id(x)] if id(x) in known else FarTensor(x)
    return type(x)([wrap(part, known) for part in x]) if type(x) in (tuple, list) else x


class FarMode(TorchDispatchMode):
    """Within it, factory functions such as `torch.zeros(…, device="far:0")` pass `run`, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # In inference mode, composite operations arrive whole.
        if func._can_decompose() and func is not aten.detach.default:
            with self:
                out = func.decompose(*args, **(kwargs or {}))
            if out is not NotImplemented:
                return out
        return run(func, args, kwargs or {})


@contextmanager
def pretend_device() -> Iterator[torch.device]:
    """Yield the device. Counters start at zero."""
    swap = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)  # else `.to` unties weights
    torch._C._set_only_lift_cpu_tensors(True)  # for torch.tensor(…, device="far:0")
    COPIES.clear()
    WAITS.clear()
    try:
        with FarMode():
            yield FAR
    finally:
        torch._C._set_only_lift_cpu_tensors(False)
        torch.__future__.set_swap_module_params_on_conversion(swap)


# torch calls fused cells on every device but the CPU, and has no CPU kernels for them.


def lstm_cell(ig: Tensor, hg: Tensor, cx: Tensor, ib: Tensor | None = None, hb: Tensor | None = None) -> Any:
    gates = ig + hg if ib is None or hb is None else ig + hg + ib + hb
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * cx + i * g
    return o * c.tanh(), c, torch.cat((i, f, g, o), 1)


def lstm_cell_backward(
    gh: Tensor | None, gc: Tensor | None, cx: Tensor, cy: Tensor, gates: Tensor, has_bias: bool
) -> Any:
    i, f, g, o = gates.chunk(4, 1)
    t = cy.tanh()
    gh = torch.zeros_like(cy) if gh is None else gh
    dc = gh * o * (1 - t * t) + (0 if gc is None else gc)
    d = (dc * g * i * (1 - i), dc * cx * f * (1 - f), dc * i * (1 - g * g), gh * t * o * (1 - o))
    both = torch.cat(d, 1)
    return both, dc * f, both.sum(0) if has_bias else both.new_zeros(0)


def gru_cell(ig: Tensor, hg: Tensor, hx: Tensor, ib: Tensor | None = None, hb: Tensor | None = None) -> Any:
    if ib is not None and hb is not None:
        ig, hg = ig + ib, hg + hb
    ir, iz, n = ig.chunk(3, 1)
    hr, hz, hn = hg.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (n + r * hn).tanh()
    return n + z * (hx - n), torch.cat((r, z, n, hx, hn), 1)


def gru_cell_backward(gh: Tensor, kept: Tensor, has_bias: bool) -> Any:
    r, z, n, hx, hn = kept.chunk(5, 1)
    dn = gh * (1 - z) * (1 - n * n)
    dz, dr = gh * (hx - n) * z * (1 - z), dn * hn * r * (1 - r)
    gi, gg = torch.cat((dr, dz, dn), 1), torch.cat((dr, dz, dn * r), 1)
    return gi, gg, gh * z, gi.sum(0), gg.sum(0)


FUSED_CELLS: dict[Any, Callable[..., Any]] = {
    aten._thnn_fused_lstm_cell.default: lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    aten._thnn_fused_gru_cell.default: gru_cell,
    aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
}
