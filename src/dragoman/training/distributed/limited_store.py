"""A key-value store whose calls end.

TCPStore waits for its server without a limit, whatever its timeout is: for ever if the process of the server
is suspended, and a quarter of an hour if its machine is out of reach. So one thread makes all calls, and the
caller waits for that thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from torch.distributed.distributed_c10d import PrefixStore, Store

Answer = TypeVar("Answer")

GRACE = 2.0  # seconds for an answer that is due: a suspended process finds it when it wakes up


class StoreSilent(RuntimeError):
    """The store does not answer. Other errors of a store are RuntimeErrors of torch."""


class LimitedStore:
    """A store that raises StoreSilent if it has not answered any call for `timeout` seconds."""

    def __init__(self, store: Store, timeout: float) -> None:
        self.inner, self.timeout = store, timeout
        self._answered = time.monotonic()
        self._is_lost = False
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._make_calls, name="store", daemon=True)
        self._thread.start()

    def add_prefix(self, prefix: str) -> None:
        self.inner = PrefixStore(prefix, self.inner)

    def check(self, *keys: str) -> bool:
        return self._call(lambda: bool(self.inner.check(list(keys))))

    def get(self, key: str) -> str:
        return self._call(lambda: str(self.inner.get(key), "utf-8"))

    def set(self, key: str, value: str) -> None:
        def set_and_ask() -> None:
            self.inner.set(key, value)
            self.inner.check([key])  # as `set` itself does not wait for the server

        self._call(set_and_ask)

    def compare_set(self, key: str, expected: str, desired: str) -> str:
        return self._call(lambda: str(self.inner.compare_set(key, expected, desired), "utf-8"))

    def close(self) -> None:
        self._calls.put(None)
        self._thread.join(0 if self._is_lost else GRACE)

    def _make_calls(self) -> None:
        while job := self._calls.get():
            future, call = job
            try:
                future.set_result(call())
            except Exception as error:
                future.set_exception(error)
            self._answered = time.monotonic()

    def _call(self, call: Callable[[], Answer]) -> Answer:
        future: Future[Answer] = Future()
        silence = time.monotonic() - self._answered
        if not self._is_lost:
            self._calls.put((future, call))
            for limit in (max(0.0, self.timeout - silence), GRACE):
                with suppress(TimeoutError):
                    return future.result(limit)
            self._is_lost = True  # so that what is left to do before the end does not wait, too
        raise StoreSilent(f"The store has not answered for {time.monotonic() - self._answered:.0f} seconds.")
