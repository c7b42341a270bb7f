"""Work ahead in a thread: the next few items are ready before they are asked for."""

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
    """The same items in the same order, at most `depth` of them ahead; closing it ends the thread."""
    ready: SimpleQueue[T | Failure] = SimpleQueue()
    room = threading.Semaphore(depth)
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(items, ready, room, stop), name="prefetch", daemon=True)

    def finish() -> None:
        stop.set()
        room.release()
        if thread is not threading.current_thread():  # a cycle may be collected in any thread
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
        except BaseException as error:  # StopIteration too: the consumer tells them apart
            ready.put(Failure(error))
            return
