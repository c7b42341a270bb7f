"""SIGTERM, SIGHUP and Ctrl-C ask a run to stop after its update; a second Ctrl-C stops it at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(BaseException):
    """A signal came while nothing was done that has to be saved."""


class StopRequest:
    def __init__(self) -> None:
        self.signal: int | None = None
        self._at_once = False

    def __call__(self) -> bool:
        return self.signal is not None

    def receive(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
        if self._at_once:
            raise Interrupted

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """In here a signal raises Interrupted, also one that has come before."""
        self._at_once = True
        try:
            if self.signal is not None:
                raise Interrupted
            yield
        finally:
            self._at_once = False


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request  # signals belong to the main thread; a run in another one is stopped by its caller
        return
    before = {number: signal.signal(number, request.receive) for number in stopping()}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopping() -> list[signal.Signals]:
    """A terminal that is closed sends SIGHUP; a run that was started with nohup is to outlive it."""
    numbers = [signal.SIGTERM, signal.SIGINT]
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    return numbers
