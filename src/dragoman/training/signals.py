"""Requests to stop a run: SIGTERM, SIGHUP or Ctrl-C after the current update, a second Ctrl-C immediately.

A file in the run's folder asks it to finish: to save a model of what it has learned so far.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

FINISH = ".finish"  # in the folder of a run


class Interrupted(BaseException):
    """Raised by a signal that arrives while there is nothing to save."""


class StopRequest:
    def __init__(self, finish: Path | None = None) -> None:
        self._finish = finish
        self.signal: int | None = None
        self._at_once = False

    def __call__(self) -> bool:
        return self.signal is not None or self.is_to_finish

    @property
    def is_to_finish(self) -> bool:
        return self._finish is not None and self._finish.exists()

    @property
    def wish(self) -> str:
        """The reason to stop, also if another rank was asked to stop, and not this one."""
        return "finish" if self.is_to_finish and self.signal is None else "asked"

    def receive(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
        if self._at_once:
            raise Interrupted

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise Interrupted on a signal, including one that arrived before."""
        self._at_once = True
        try:
            if self.signal is not None:
                raise Interrupted
            yield
        finally:
            self._at_once = False


@contextmanager
def stop_on_signals(finish: Path | None = None) -> Iterator[StopRequest]:
    """Turn signals into a StopRequest. `finish` is the file that asks to finish."""
    request = StopRequest(finish)
    if threading.current_thread() is not threading.main_thread():
        yield request  # only the main thread handles signals; a run in another one is stopped by its caller
        return
    before = {number: signal.signal(number, request.receive) for number in stopping()}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopping() -> list[signal.Signals]:
    """Return the signals to handle. A closed terminal sends SIGHUP, which a run under nohup must survive."""
    numbers = [signal.SIGTERM, signal.SIGINT]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers
