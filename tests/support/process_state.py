"""What can be seen of a process from inside: all that a library might change."""

from __future__ import annotations

import ctypes
import gc
import json
import locale
import logging
import os
import random
import resource
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

BLOCK = 64 << 20


class Mallinfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def blocks_by_mmap() -> int | None:
    """glibc takes 64 MB from the system by mmap, unless it was told to keep all memory."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        return None
    libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    libc.free.argtypes, libc.mallinfo2.restype = [ctypes.c_void_p], Mallinfo
    before = libc.mallinfo2().hblks
    block = libc.malloc(BLOCK)
    after = libc.mallinfo2().hblks
    libc.free(block)
    return int(after - before)


def addresses() -> int:
    """Bytes; 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def look() -> dict[str, Any]:
    limits = [name for name in dir(resource) if name.startswith("RLIMIT")]
    return {
        "environ": dict(os.environ),
        "threads of torch": [torch.get_num_threads(), torch.get_num_interop_threads()],
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()],
        "signals": {s.name: str(signal.getsignal(s)) for s in signal.Signals},
        "allocator": blocks_by_mmap(),
        "random": hash(random.getstate()),
        "random of numpy": np.random.get_state()[1].tolist(),  # type: ignore[index, union-attr]
        "random of torch": torch.get_rng_state().tolist(),
        "torch": [
            torch.is_grad_enabled(),
            str(torch.get_default_dtype()),
            torch.are_deterministic_algorithms_enabled(),
        ],
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "streams": [sys.stdout.encoding, sys.stderr.encoding, sys.stdin.encoding],
        "hooks": [str(sys.excepthook), str(threading.excepthook), len(logging.root.handlers)],
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in limits},
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "warnings": [str(one) for one in warnings.filters],
    }


def compare(what: str, before: dict[str, Any]) -> None:
    """A line of JSON for each difference."""
    after = look()
    for name, value in before.items():
        if after[name] != value:
            sys.stdout.write(json.dumps([what, name, *map(str, differing(value, after[name]))]) + "\n")


def differing(before: Any, after: Any) -> list[Any]:
    if isinstance(before, dict):
        return sorted((key, before.get(key), after.get(key)) for key in before.keys() ^ after.keys()) + [
            (key, before[key], after[key])
            for key in before.keys() & after.keys()
            if before[key] != after[key]
        ]
    if isinstance(before, list) and isinstance(after, list):
        return [[x for x in before if x not in after], [x for x in after if x not in before]]
    return [before, after]
