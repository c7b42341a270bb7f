"""The floating-point precision of a run."""

from __future__ import annotations

from pathlib import Path

import torch

from dragoman.config.model import ModelConfig
from dragoman.config.parts.convolution import ConvPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.errors import UsageError

LEAST_WIDTH = 256  # on a CPU; with smaller matrices, converting takes longer than bf16 saves


def choose(device: torch.device, model: ModelConfig) -> str:
    """Return what `auto` means: bf16 where the device multiplies it fast, and the time goes into products.

    On a CPU that is so in wide Transformers and ConvS2S. A recurrent network converts at every step.
    """
    if not multiplies_bf16_fast(device):
        return "fp32"
    is_wide = all(product_width(part) >= LEAST_WIDTH for part in model.parts.values())
    return "bf16" if device.type != "cpu" or is_wide else "fp32"


def product_width(part: object) -> int:
    """Return the width of the products that a part does for all tokens at once; 0 if it steps."""
    match part:
        case TransformerPart():
            return part.width
        case ConvPart():
            return min(part.widths)
    return 0


def dtype_of(precision: str, device: torch.device) -> torch.dtype:
    """Return the dtype of the products.

    `tf32` is fp32 whose products are rounded to 10 bits, which NVIDIA GPUs compute faster.
    """
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
