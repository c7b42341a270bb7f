"""The floating-point precision of a run."""

from __future__ import annotations

from pathlib import Path

import torch


def resolve(precision: str) -> torch.dtype:
    """Return the dtype. `auto` is bf16 if the CPU has AMX and thus multiplies it faster than fp32.

    GPUs are not used yet.
    """
    if precision == "auto":
        precision = "bf16" if multiplies_bf16_fast() else "fp32"
    return {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]


def multiplies_bf16_fast() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and " amx_bf16" in cpuinfo.read_text(encoding="utf-8", errors="replace")
