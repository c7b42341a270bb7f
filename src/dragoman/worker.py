"""What every worker process begins with."""

from __future__ import annotations

import os
import signal
from multiprocessing import connection, parent_process
from threading import Thread


def begin_worker() -> None:
    """Leave Ctrl-C to the parent process, and end when it ends, for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)
