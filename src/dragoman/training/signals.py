"""SIGTERM, SIGHUP and Ctrl-C ask a run to stop after its update; a second Ctrl-C stops it at once.
A file in the run's folder asks it to finish: to make a model of what it has learned so far."""

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
    """A signal came while nothing was done that has to be saved."""


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
        """Another rank may have been asked to stop, and not this one."""
        return "finish" if self.is_to_finish and self.signal is None else "asked"

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
def stop_on_signals(finish: Path | None = None) -> Iterator[StopRequest]:
    """`finish` is the file that asks for a model."""
    request = StopRequest(finish)
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
