"""The number of processors available to this process, and of threads to start."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
OPENMP = "OMP_NUM_THREADS"


def threads(requested: int = 0, *, most: int | None = None) -> int:
    """Return `requested`, else OMP_NUM_THREADS, else this rank's share of the cores, at most `most`."""
    share = max(1, cores() // local_ranks())
    return requested or openmp_threads() or (share if most is None else min(share, most))


def cores() -> int:
    """Return the number of cores by the affinity of this process and the quota of its control groups."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, round(min(quota(), allowed))))


def use_passive_waiting() -> None:
    """Let OpenMP threads sleep while they wait, since spinning threads slow down other processes.

    It must be called before torch is imported, and only by a command that owns its process.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def local_ranks() -> int:
    """Return the number of ranks on this machine, as set by `torchrun`."""
    return max(1, number(os.environ.get("LOCAL_WORLD_SIZE", "")))


def openmp_threads() -> int:
    """Return OMP_NUM_THREADS, or 0. If unset, torchrun sets it to 1 for its ranks, which is ignored."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        launcher = read(ROOT / "proc" / str(os.getppid()) / "environ").split("\0")
        if launcher != [""] and not any(variable.startswith(f"{OPENMP}=") for variable in launcher):
            return 0
    return number(os.environ.get(OPENMP, "").split(",")[0])


def quota() -> float:
    """Return the CPU quota of control groups (v1 or v2): the minimum over the group and its parents."""
    granted = [math.inf]
    for line in filter(None, read(ROOT / "proc/self/cgroup").split("\n")):
        _, controllers, group = line.split(":", 2)
        if not controllers:
            granted += [share(*read(folder / "cpu.max").split()[:2]) for folder in upwards("", group)]
        elif "cpu" in controllers.split(","):
            for mounted in ("cpu", controllers):
                for folder in upwards(mounted, group):
                    files = (folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")
                    granted.append(share(*(read(file).strip() for file in files)))
    return min(granted)


def upwards(mounted: str, group: str) -> Iterator[Path]:
    """Return the folder of a group and its parents; in a container the group's own may not be visible."""
    root = ROOT / "sys/fs/cgroup" / mounted
    folder = Path(group.strip("/"))
    return (root / inner for inner in (folder, *folder.parents))


def share(quota: str = "", period: str = "") -> float:
    """Return quota / period, both in microseconds; infinity for "max" or -1."""
    return number(quota) / number(period) if number(quota) and number(period) else math.inf


def number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
