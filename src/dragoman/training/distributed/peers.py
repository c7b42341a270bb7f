"""Communication between the ranks of a run besides gradients: decisions, heartbeats and failures.

It uses the key-value store by which the processes of `torchrun` find each other, not collectives. A
collective has a timeout, and some waits must have none: the first rank prepares the data, validates and saves
while the others wait. A waiting rank checks for heartbeats instead.
"""

from __future__ import annotations

import atexit
import json
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count as count_up
from pathlib import Path
from typing import NamedTuple, TypeVar

from torch.distributed import DistError
from torch.distributed.distributed_c10d import Store

from dragoman.errors import DragomanError, TrainingError
from dragoman.training.distributed import limited_store
from dragoman.training.distributed.limited_store import LimitedStore

Made = TypeVar("Made")

HEARTBEAT_SECONDS = 2.0  # between two heartbeats
SHORTEST, LONGEST = 0.002, 0.2  # seconds between two reads of the store
START_TIMEOUT = 600.0  # seconds for all ranks to start
LINGER_SECONDS = 10.0  # that the first rank, which may host the store, waits for the others to end
FRAMES = 3  # of a stack that are reported
HERE = Path(__file__).parents[2]
NOT_REPORTED = {Path(__file__), Path(limited_store.__file__)}  # that a rank waits is known


class Heartbeat(NamedTuple):
    """A sign of life of a rank."""

    beat: int
    doing: str
    waits_for: int | None  # a rank
    at: str  # the innermost calls


class Peers:
    """The connection of this rank to the others. `again` is the command that resumes the run."""

    def __init__(self, store: Store, rank: int, count: int, *, timeout: float, again: str) -> None:
        self.rank, self.count, self.timeout, self.again = rank, count, timeout, again
        self.doing = "starting"
        self.waits_for: int | None = None
        self.asked_to_stop: Callable[[], bool] = lambda: False
        self.decisions = 0
        self.beat = min(HEARTBEAT_SECONDS, timeout / 5)
        self._main = threading.get_ident()
        self.store = LimitedStore(store, timeout)
        with self.using_store():
            self.store.add_prefix(rendezvous(self.store, rank, count))
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._live, name="heartbeat", daemon=True)
        self._heart.start()

    def _live(self) -> None:
        with suppress(RuntimeError):  # the store is gone: the next wait reports it
            for beat in count_up(1):
                sign = Heartbeat(beat, self.doing, self.waits_for, stack_of(self._main))
                self.store.set(f"sign/{self.rank}", json.dumps(sign))
                if self._over.wait(self.beat):
                    return

    def from_first(self, name: str, make: Callable[[], Made]) -> Made:
        """Return on all ranks what `make` returns on the first one, a JSON-serialisable value."""
        self.decisions += 1
        key = f"made/{self.decisions}/{name}"
        if self.rank == 0:
            self.doing = name
            value = make()
            with self.using_store():
                self.store.set(key, json.dumps(value))
            return value
        self.wait_for(0, name, key)
        with self.using_store():
            received: Made = json.loads(self.store.get(key))
        return received

    def meet_at(self, name: str) -> None:
        """Wait until all ranks have reached this point."""
        self.doing = name
        with self.using_store():
            self.store.set(f"at/{name}/{self.rank}", "")
        for rank in range(self.count):
            self.wait_for(rank, name, f"at/{name}/{rank}")

    def wait_for(self, rank: int, doing: str, key: str) -> None:
        """Wait until that rank has set the key, without a time limit as long as it sends heartbeats.

        If one rank is killed, torchrun asks the others to stop, and kills them half a minute later. So a rank
        that is asked to stop gives up sooner, and reports why.
        """
        silence, pause, last = 0.0, SHORTEST, -1
        with self.waiting(rank, doing), self.using_store():
            while not self.store.check(key):
                self._raise_failure()
                beat = self.sign_of(rank).beat
                # Count the time slept, not the clock: a suspended process misses heartbeats that were sent.
                silence = silence + pause if beat == last else 0.0
                if silence > (2 * self.beat if self.asked_to_stop() else self.timeout):
                    raise self.failed(
                        rank, f"Rank {rank} has shown no sign of life for {silence:.0f} seconds."
                    )
                last = beat
                self._sleep(pause, rank)
                pause = min(pause * 1.5, LONGEST)

    def _sleep(self, seconds: float, rank: int) -> None:
        try:
            time.sleep(seconds)
        except SystemExit:
            if not self.is_alive(rank):
                raise self.gone(rank) from None
            raise

    @contextmanager
    def waiting(self, rank: int, doing: str) -> Iterator[None]:
        self.doing, self.waits_for = doing, rank
        try:
            yield
        finally:
            self.waits_for = None

    @contextmanager
    def using_store(self) -> Iterator[None]:
        """Raise TrainingError if the store fails."""
        try:
            yield
        except RuntimeError as error:
            raise self.gone(0) from error

    @contextmanager
    def exchanging(self, rank: int, doing: str) -> Iterator[None]:
        """Raise TrainingError if sending to that rank or receiving from it fails in the process group."""
        with self.waiting(rank, doing):
            try:
                yield
            except RuntimeError as error:  # gloo raises no other type
                raise self._lost(rank, doing, str(error)) from error

    @contextmanager
    def all_summing(self, doing: str) -> Iterator[None]:
        """Raise TrainingError if a sum over all ranks fails. A rank receives from the one before it."""
        before = (self.rank - 1) % self.count
        with self.waiting(before, doing):
            try:
                yield
            except RuntimeError as error:
                if "gloo" not in str(error) and not isinstance(error, DistError):
                    raise  # of the model, not of the network
                raise self._lost(self._silent_rank(before), doing, str(error)) from error

    def _silent_rank(self, default: int) -> int:
        """Return the first rank that sends no heartbeats, or the default if all do."""
        others = [rank for rank in range(self.count) if rank != self.rank]
        beats = {rank: self.sign_of(rank).beat for rank in others}
        time.sleep(2 * self.beat)
        return next((rank for rank in others if self.sign_of(rank).beat == beats[rank]), default)

    def _lost(self, rank: int, doing: str, reason: str) -> TrainingError:
        if "Timed out" in reason:
            rank = self._to_blame(rank)
            sign = self.sign_of(rank)
            late = f"Rank {rank} did not reach {doing} within {self.timeout:g} seconds."
            return self.failed(rank, f"{late} Its last heartbeat came from {sign.doing}, at {sign.at}.")
        with suppress(SystemExit):  # torchrun asks all ranks to stop when it sees that one is gone
            self._read_why()
        if "closed by peer" in reason or "reset by peer" in reason or "Broken pipe" in reason:
            return self.gone(rank)
        return self.failed(rank, f"Rank {rank} cannot be reached: {reason}")

    def _read_why(self) -> None:
        """Wait for the report of a rank that gave up: it closes its connections at about the same time."""
        end = time.monotonic() + LONGEST
        with suppress(RuntimeError):
            while not self.store.check("failure") and time.monotonic() < end:
                time.sleep(SHORTEST)

    def _to_blame(self, rank: int) -> int:
        """Return the rank that holds up the others: the given one may itself wait for another."""
        seen = {self.rank}
        while (other := self.sign_of(rank).waits_for) is not None and other not in seen:
            seen.add(rank)
            rank = other
        return rank

    def sign_of(self, rank: int) -> Heartbeat:
        with suppress(RuntimeError):
            if self.store.check(f"sign/{rank}"):
                return Heartbeat(*json.loads(self.store.get(f"sign/{rank}")))
        return Heartbeat(0, "", None, "")

    def is_alive(self, rank: int) -> bool:
        """Return whether that rank sends heartbeats. This takes as long as a few of them."""
        beat = self.sign_of(rank).beat
        for _ in range(8):
            time.sleep(self.beat / 4)
            if self.sign_of(rank).beat != beat:
                return True
        return False

    def gone(self, rank: int) -> TrainingError:
        return self.failed(rank, f"Rank {rank} is gone: it was killed, or its machine is out of reach.")

    def failed(self, rank: int, what: str) -> TrainingError:
        """Return the error of that rank, or the one that was reported first, if there is one."""
        failure = {"rank": rank, "what": what}
        try:
            failure = json.loads(self.store.compare_set("failure", "", json.dumps(failure)))
        except RuntimeError:  # torchrun or the first rank hosts the store
            failure = {"rank": 0, "what": "Rank 0 is gone or out of reach, or torchrun on its machine."}
        return TrainingError(
            str(failure["what"]),
            where=f"rank {self.rank}, {self.doing}, at {stack_of(self._main)}",
            expected="an answer from every rank",
            hint=f"See the last output of rank {failure['rank']}, then resume: {self.again}",
        )

    def _raise_failure(self) -> None:
        if self.store.check("failure"):
            raise self.failed(self.rank, "")

    def say_failed(self, error: BaseException) -> None:
        """Report the failure before this rank ends, so that the others do not wait for it."""
        message = error.what if isinstance(error, DragomanError) else f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt | SystemExit):
            message = "it was asked to stop"
        self.failed(self.rank, f"Rank {self.rank} ended: {message.partition(chr(10))[0]}")
        if self.rank == 0:
            atexit.register(linger, self.store)

    def leave(self, *, done: bool) -> None:
        with suppress(RuntimeError):
            self.store.set(f"left/{self.rank}", "")
            end = time.monotonic() + LINGER_SECONDS
            while done and self.rank == 0 and time.monotonic() < end:
                if self.store.check(*(f"left/{rank}" for rank in range(self.count))):
                    break
                time.sleep(LONGEST)
        self._over.set()
        self._heart.join()
        self.store.close()


def linger(store: LimitedStore) -> None:
    """Give the other ranks time to read the failure: the store may end with the process of the first rank."""
    time.sleep(2 * LONGEST)


def rendezvous(store: LimitedStore, rank: int, count: int) -> str:
    """Return a name for this start of the run, the same on all ranks and never used before.

    After a restart, the store may still hold the keys of the previous start. So each rank sends a unique
    word, and the first rank answers every word it sees until all ranks have confirmed.
    """
    end = time.monotonic() + START_TIMEOUT
    if rank:
        word = uuid.uuid4().hex
        store.set(f"word/{rank}", word)
        while not store.check(f"answer/{word}"):
            if time.monotonic() > end:
                raise not_started([0])
            time.sleep(SHORTEST)
        name = store.get(f"answer/{word}")
        store.set(f"met/{name}/{rank}", "")
        return name
    name = uuid.uuid4().hex
    absent = list(range(1, count))
    while absent:
        for other in absent:
            if store.check(f"word/{other}"):
                store.set(f"answer/{store.get(f'word/{other}')}", name)
        absent = [other for other in absent if not store.check(f"met/{name}/{other}")]
        if absent and time.monotonic() > end:
            raise not_started(absent)
        time.sleep(SHORTEST)
    return name


def not_started(ranks: Sequence[int]) -> TrainingError:
    named = ", ".join(str(rank) for rank in ranks)
    return TrainingError(
        f"Rank {named} did not start within {START_TIMEOUT / 60:.0f} minutes.",
        expected="all ranks started at about the same time",
        hint="See its last output.",
    )


def stack_of(thread: int) -> str:
    """Return the innermost calls of the package, such as "training/distributed/ranks.py:41 sum"."""
    calls = []
    for frame, line in traceback.walk_stack(sys._current_frames().get(thread)):
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(HERE) and file not in NOT_REPORTED:
            calls.append(f"{file.relative_to(HERE).as_posix()}:{line} {frame.f_code.co_name}")
    return " in ".join(calls[:FRAMES]) or "its start"
