"""Prefetching in a thread: the next few items are ready before they are requested."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Generator, Iterator
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def prefetch(items: Iterator[T], depth: int = 4) -> Generator[T, None, None]:
    """Yield the same items in the same order, computing at most `depth` ahead; closing ends the thread."""
    ready: SimpleQueue[T | Failure] = SimpleQueue()
    room = threading.Semaphore(depth)
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(items, ready, room, stop), name="prefetch", daemon=True)

    def finish() -> None:
        stop.set()
        room.release()
        if thread is not threading.current_thread():  # the garbage collector may run in any thread
            thread.join()

    thread.start()
    atexit.register(finish)  # a thread must not outlive the interpreter
    try:
        while True:
            item = ready.get()
            if isinstance(item, Failure):
                if isinstance(item.error, StopIteration):
                    return
                raise item.error
            room.release()
            yield item
    finally:
        atexit.unregister(finish)
        finish()


def work(
    items: Iterator[T], ready: SimpleQueue[T | Failure], room: threading.Semaphore, stop: threading.Event
) -> None:
    while True:
        room.acquire()
        if stop.is_set():
            return
        try:
            ready.put(next(items))
        except BaseException as error:  # including StopIteration: the consumer distinguishes them
            ready.put(Failure(error))
            return
