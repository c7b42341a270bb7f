"""A command in a terminal of its own: what it sends there."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from contextlib import ExitStack
from pathlib import Path

CODE = "import sys; from dragoman.cli.main import main; sys.exit(main())"
# A new session has no terminal until it takes one.
IN_TERMINAL = "import fcntl, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); " + CODE


def watched(
    *words: str, columns: int = 80, stdout: Path | None = None, stdin: Path | None = None
) -> tuple[int, str]:
    """Its exit code, and all that reached the terminal; stdout and stdin may be files."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with ExitStack() as stack:
        child = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *words],
            stdin=stack.enter_context(stdin.open("rb")) if stdin else theirs,
            stdout=stack.enter_context(stdout.open("wb")) if stdout else theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        )
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 1 << 16):
            seen += block
    except OSError:  # the other side is gone
        pass
    os.close(ours)
    return child.wait(), seen.decode().replace("\r\n", "\n")
