"""The device that a model runs on: the CPU, or an accelerator that torch can use."""

from __future__ import annotations

import os

import torch

from dragoman.allocator import peak_bytes
from dragoman.errors import UsageError

AUTO = ("cuda", "xpu")  # what `auto` tries before the CPU; nothing was ever run on mps, so it must be chosen
WITHOUT_FP64 = ("mps",)


def choose_device(name: str, where: str) -> torch.device:
    """Return the device of this name; `auto` is a GPU if torch can use one. `where` names the setting.

    A rank of `torchrun` uses the device with its local number, unless `name` has a number itself.
    """
    if name == "auto":
        name = next((kind for kind in AUTO if count(kind)), "cpu")
    device = torch.device(name)
    if device.type == "cpu":
        return device
    index = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
    if not count(device.type):
        raise UsageError(
            f"PyTorch {torch.__version__} cannot use a device of type {device.type}.",
            where=where,
            expected="a PyTorch build for this device, and its driver",
            hint="cpu, or install the build for your device: https://pytorch.org/get-started/locally",
        )
    if index >= count(device.type):
        raise UsageError(
            f"There is no {device.type}:{index}: {count(device.type)} device(s) were found.",
            where=where,
            expected="at most one rank per device",
            hint=f"torchrun --nproc-per-node {count(device.type)} …",
        )
    torch.accelerator.set_device_index(index)
    return torch.device(device.type, index)


def is_gpu(name: str, where: str) -> bool:
    return choose_device(name, where).type != "cpu"


def count(kind: str) -> int:
    """Return the number of devices of a kind that torch can use."""
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    return int(torch.get_device_module(kind).device_count())


def widest_float(device: torch.device) -> torch.dtype:
    """Return fp64, or fp32 on devices that have no fp64."""
    return torch.float32 if device.type in WITHOUT_FP64 else torch.float64


def peak_memory(device: torch.device) -> int:
    """Return the largest number of bytes that were in use, on the device or by this process."""
    return peak_bytes() if device.type == "cpu" else torch.accelerator.max_memory_allocated(device)
