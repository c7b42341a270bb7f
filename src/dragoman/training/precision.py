"""The floating-point precision of a run."""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.errors import UsageError


def resolve(precision: str, device: torch.device) -> torch.dtype:
    """Return the dtype of the model. `auto` is bf16 where the device multiplies it faster than fp32.

    `tf32` is fp32 whose products are rounded to 10 bits, which NVIDIA GPUs compute faster.
    """
    if precision == "auto":
        precision = "bf16" if multiplies_bf16_fast(device) else "fp32"
    if precision == "tf32":
        if device.type != "cuda":
            raise UsageError(
                f"tf32 does not exist on {device.type}.",
                where="training.precision",
                expected="auto, fp32 or bf16",
                hint="training.precision=auto",
            )
        torch.set_float32_matmul_precision("high")
    return {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16}[precision]


def multiplies_bf16_fast(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return device.type == "xpu"
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and " amx_bf16" in cpuinfo.read_text(encoding="utf-8", errors="replace")
