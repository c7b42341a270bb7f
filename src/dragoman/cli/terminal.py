"""The person at the terminal: whether there is one, and a last moment for them to say no."""

from __future__ import annotations

import os
import select
import sys
import time
from typing import TextIO

SECONDS = 10
REFUSALS = {"q", "Q", "n", "N", "\x1b", "\x04"}


def is_watched() -> bool:
    """Whether a picture that changes in place can be seen: not in a file, not from the background."""
    return os.environ.get("TERM", "dumb") != "dumb" and is_ours(sys.stderr)


def can_answer() -> bool:
    return is_ours(sys.stderr) and is_ours(sys.stdin)


def is_ours(stream: TextIO) -> bool:
    """A job in the background that reads from its terminal, or changes it, is stopped by the system."""
    try:
        return stream.isatty() and os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # closed, or not the terminal that controls this process
        return False


def countdown(seconds: int = SECONDS) -> bool:
    """True at the end or at Enter, False at q. Ctrl-C raises KeyboardInterrupt, as ever."""
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    end = time.monotonic() + seconds
    try:
        tty.setcbreak(keyboard, termios.TCSADRAIN)
        while (left := end - time.monotonic()) > 0:
            sys.stderr.write(f"\r\x1b[KStarts in {left:.0f} s. Enter = now · q = stop")
            sys.stderr.flush()
            if select.select([keyboard], [], [], min(left, 1.0))[0]:
                key = os.read(keyboard, 1).decode(errors="replace")
                if key in ("\r", "\n", ""):
                    return True
                if key in REFUSALS:
                    return False
        return True
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
