"""What Python itself reports while a folder is read: code run, compiled or imported, programs started."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

EVENTS = {
    "compile",
    "code.__new__",
    "ctypes.dlopen",
    "exec",
    "import",
    "marshal.loads",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pickle.find_class",
    "socket.connect",
    "subprocess.Popen",
}


# What `ast.literal_eval`, by which numpy reads the head of an array, parses and never runs: running it would
# be an "exec".
PARSED = ("compile", "<unknown>")


class Audit:
    """A hook of this process; it cannot be taken out again, only told not to listen."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.listens = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if self.listens and event in EVENTS and (event, *args[1:]) != PARSED:
            self.seen.append(f"{event} {args!r:.200}")

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        self.seen, self.listens = [], True
        try:
            yield self.seen
        finally:
            self.listens = False
