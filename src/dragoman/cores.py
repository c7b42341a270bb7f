"""How many processors this process may use, and how many threads it should start."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
OPENMP = "OMP_NUM_THREADS"


def threads(asked: int = 0, *, most: int | None = None) -> int:
    """As asked; else by OMP_NUM_THREADS; else this rank's share of the cores, `most` at most."""
    share = max(1, cores() // local_ranks())
    return asked or told_by_openmp() or (share if most is None else min(share, most))


def cores() -> int:
    """By the affinity of this process, and by the quota of its control groups (containers have one)."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, round(min(quota(), allowed))))


def wait_asleep() -> None:
    """Threads that spin while they wait for each other take the cores from other processes, which spin, too.
    Said before torch is imported, by a command that has its process to itself."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def local_ranks() -> int:
    """Processes of one run on this machine; `torchrun` says so."""
    return max(1, number(os.environ.get("LOCAL_WORLD_SIZE", "")))


def told_by_openmp() -> int:
    """OMP_NUM_THREADS, or 0. Where nobody had set it, torchrun sets it to 1 for its ranks: no wish."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        launcher = read(ROOT / "proc" / str(os.getppid()) / "environ").split("\0")
        if launcher != [""] and not any(variable.startswith(f"{OPENMP}=") for variable in launcher):
            return 0
    return number(os.environ.get(OPENMP, "").split(",")[0])


def quota() -> float:
    """Processors that control groups of version 1 or 2 grant: the least of the group and those around it."""
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
    """The folder of a group and those around it; in a container the group's own may be out of sight."""
    root = ROOT / "sys/fs/cgroup" / mounted
    folder = Path(group.strip("/"))
    return (root / inner for inner in (folder, *folder.parents))


def share(quota: str = "", period: str = "") -> float:
    """Microseconds of processor time in so many of the clock; "max" or -1 is without limit."""
    return number(quota) / number(period) if number(quota) and number(period) else math.inf


def number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
