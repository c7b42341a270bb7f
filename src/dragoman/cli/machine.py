"""Properties of this machine: cores, memory, torch, and number formats with hardware support."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path
from typing import TypedDict

from dragoman.cores import cores

FAST = {
    "amx_bf16": "AMX bf16",
    "avx512_bf16": "AVX-512 bf16",
    "amx_int8": "AMX int8",
    "avx512_vnni": "VNNI int8",
}


class Machine(TypedDict):
    processor: str
    cores: int
    memory_gb: float | None
    fast_formats: list[str]
    python: str
    torch: str | None


def machine() -> Machine:
    """Return the properties of this machine, without importing torch."""
    name, flags = processor()
    return Machine(
        processor=name,
        cores=cores(),
        memory_gb=memory_gb(),
        fast_formats=[shown for flag, shown in FAST.items() if flag in flags],
        python=platform.python_version(),
        torch=installed("torch"),
    )


def processor() -> tuple[str, set[str]]:
    fields = {}
    for line in read("/proc/cpuinfo").split("\n\n", 1)[0].split("\n"):
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()
    name = fields.get("model name") or platform.processor() or platform.machine()
    return name, set(fields.get("flags", "").split())


def memory_gb() -> float | None:
    """Return the available memory as Linux reports it."""
    for line in read("/proc/meminfo").split("\n"):
        if line.startswith("MemAvailable:"):
            return round(int(line.split()[1]) / 2**20, 1)
    return None


def read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
