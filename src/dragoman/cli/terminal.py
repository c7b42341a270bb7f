"""The person at the terminal: whether there is one, and a last moment for them to say no."""

from __future__ import annotations

import os
import select
import sys
import time

STDIN, STDERR = 0, 2
SECONDS = 10
REFUSALS = {"q", "Q", "n", "N", "\x1b", "\x04"}


def is_watched() -> bool:
    """Whether a picture that changes in place can be seen: not in a file, not from the background."""
    return os.environ.get("TERM", "dumb") != "dumb" and is_ours(STDERR)


def can_answer() -> bool:
    return is_ours(STDERR) and is_ours(STDIN)


def is_ours(file: int) -> bool:
    """A job in the background that reads from its terminal, or changes it, is stopped by the system."""
    try:
        return os.isatty(file) and os.tcgetpgrp(file) == os.getpgrp()
    except OSError:  # not the terminal that controls this process
        return False


def countdown(seconds: int = SECONDS) -> bool:
    """True at the end or at Enter, False at q. Ctrl-C raises KeyboardInterrupt, as ever."""
    import termios
    import tty

    before = termios.tcgetattr(STDIN)
    end = time.monotonic() + seconds
    try:
        tty.setcbreak(STDIN, termios.TCSADRAIN)
        while (left := end - time.monotonic()) > 0:
            sys.stderr.write(f"\r\x1b[KStarts in {left:.0f} s. Enter = now · q = stop")
            sys.stderr.flush()
            if select.select([STDIN], [], [], min(left, 1.0))[0]:
                key = os.read(STDIN, 1).decode(errors="replace")
                if key in ("\r", "\n", ""):
                    return True
                if key in REFUSALS:
                    return False
        return True
    finally:
        termios.tcsetattr(STDIN, termios.TCSADRAIN, before)
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
