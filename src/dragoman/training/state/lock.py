"""A lock that allows one run per folder; it is held until the training process ends, however it ends."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from dragoman.durable import lock
from dragoman.errors import UsageError

NAME = ".lock"  # stays, empty, after the run: if it were deleted, two runs could lock two files


@contextmanager
def locked(out: Path) -> Iterator[bool]:
    """Lock the folder. Yield False if the file system has no locks, so that a second run is possible."""
    handle = os.open(out / NAME, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        is_ours = lock(handle)
        if is_ours is False:
            raise in_use(out, os.pread(handle, 1000, 0))
        since = datetime.now().astimezone().isoformat(timespec="minutes")
        write(handle, json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": since}))
        yield is_ours is True
        write(handle, "")
    finally:
        os.close(handle)


def write(handle: int, text: str) -> None:
    with suppress(OSError):  # the disk may be full; the lock is held anyway
        os.ftruncate(handle, 0)
        os.pwrite(handle, text.encode(), 0)


class InUse(UsageError):
    """Raised if another process trains in the folder."""

    who = ""


def in_use(out: Path, note: bytes) -> InUse:
    who, stop = "another process", "Wait until it is done"
    with suppress(ValueError, KeyError, TypeError):
        facts = json.loads(note)
        since = datetime.fromisoformat(facts["since"])
        day = "" if since.date() == datetime.now().date() else f"{since:%Y-%m-%d} "
        is_here = facts["host"] == socket.gethostname()
        place = "" if is_here else f" on {facts['host']}"
        who = f"process {int(facts['process'])}{place} since {day}{since:%H:%M}"
        stop += f", or stop it, which saves a checkpoint: kill {int(facts['process'])}" if is_here else ""
    error = InUse(
        f"{out} is being trained by {who}.",
        where=str(out / NAME),
        expected="one run in a folder at a time",
        hint=f"{stop}; save a model of what it has learned: --finish; or train in another folder: -o OTHER",
    )
    error.who = who[0].upper() + who[1:]
    return error


def wait_until_free(out: Path) -> None:
    """Wait until the process that trains in the folder has ended."""
    handle = os.open(out / NAME, os.O_RDWR)
    try:
        while lock(handle) is False:
            time.sleep(0.2)
    finally:
        os.close(handle)
