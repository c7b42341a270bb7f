"""What the ranks of a run tell each other besides gradients: decisions, signs of life, and what went wrong.

It goes through the store of keys and values by which the processes of `torchrun` find each other, not by
collectives. A collective has a time limit, and some waits must have none: the first rank prepares the data,
validates and saves while the others wait. Who waits looks for signs of life instead.
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

from torch.distributed.distributed_c10d import PrefixStore, Store

from dragoman.errors import DragomanError, TrainingError

Made = TypeVar("Made")

HEARTBEAT_SECONDS = 2.0  # seconds between two signs of life
SHORTEST, LONGEST = 0.002, 0.2  # seconds between two looks at the store
START_TIMEOUT = 600.0  # seconds for all ranks to start
LINGER_SECONDS = 10.0  # seconds that the first rank, which may hold the store, waits for the others to end
FRAMES = 3  # of a stack that are told
HERE = Path(__file__).parent.parent


class Heartbeat(NamedTuple):
    """A sign of life."""

    beat: int
    doing: str
    waits_for: int | None  # a rank
    at: str  # the innermost calls


class Peers:
    """The other ranks, as this one knows them. `again` is the command that resumes the run."""

    def __init__(self, store: Store, rank: int, count: int, *, timeout: float, again: str) -> None:
        self.rank, self.count, self.timeout, self.again = rank, count, timeout, again
        self.store = PrefixStore(rendezvous(store, rank, count), store)
        self.doing = "starting"
        self.waits_for: int | None = None
        self.asked_to_stop: Callable[[], bool] = lambda: False
        self.decisions = 0
        self.beat = min(HEARTBEAT_SECONDS, timeout / 5)
        self._main = threading.get_ident()
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._live, name="heartbeat", daemon=True)
        self._heart.start()

    def _live(self) -> None:
        with suppress(RuntimeError):  # the store is gone: whoever waits for something will say so
            for beat in count_up(1):
                sign = Heartbeat(beat, self.doing, self.waits_for, stack_of(self._main))
                self.store.set(f"sign/{self.rank}", json.dumps(sign))
                if self._over.wait(self.beat):
                    return

    def from_first(self, name: str, make: Callable[[], Made]) -> Made:
        """What the first rank makes, something that JSON can hold, on all ranks."""
        self.decisions += 1
        key = f"made/{self.decisions}/{name}"
        if self.rank == 0:
            self.doing = name
            made = make()
            with self.telling():
                self.store.set(key, json.dumps(made))
            return made
        self.wait_for(0, name, key)
        with self.telling():
            found: Made = json.loads(self.store.get(key))
        return found

    def meet_at(self, name: str) -> None:
        """All ranks go on when all have come."""
        with self.telling():
            self.store.set(f"at/{name}/{self.rank}", "")
        for rank in range(self.count):
            self.wait_for(rank, name, f"at/{name}/{rank}")

    def wait_for(self, rank: int, doing: str, key: str) -> None:
        """Until that rank has set the key. There is no limit as long as it shows signs of life.

        Where one rank is killed, torchrun asks the others to stop, and kills them half a minute later. So who
        is asked to stop gives up sooner, and says why.
        """
        silence, pause, last = 0.0, SHORTEST, -1
        with self.waiting(rank, doing), self.telling():
            while not self.store.check([key]):
                self._raise_failure()
                beat = self.sign_of(rank).beat
                # The time slept, not the clock: who was suspended has heard nothing, and nobody is to blame.
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
    def telling(self) -> Iterator[None]:
        """Where the store is used."""
        try:
            yield
        except RuntimeError as error:
            raise self.gone(0) from error

    @contextmanager
    def exchanging(self, rank: int, doing: str) -> Iterator[None]:
        """Where messages of the process group are sent to that rank and received from it."""
        with self.waiting(rank, doing):
            try:
                yield
            except RuntimeError as error:  # gloo has no other
                raise self._lost(rank, doing, str(error)) from error

    def _lost(self, rank: int, doing: str, reason: str) -> TrainingError:
        if "Timed out" in reason:
            rank = self._to_blame(rank)
            sign = self.sign_of(rank)
            late = f"Rank {rank} did not come to {doing} within {self.timeout:g} seconds."
            return self.failed(rank, f"{late} It was last heard of in {sign.doing}, at {sign.at}.")
        with suppress(SystemExit):  # torchrun asks all ranks to stop when it sees that one is gone
            self._read_why()
        if "closed by peer" in reason or "reset by peer" in reason or "Broken pipe" in reason:
            return self.gone(rank)
        return self.failed(rank, f"Rank {rank} cannot be reached: {reason}")

    def _read_why(self) -> None:
        """A rank that gives up closes its connections, and says at the same moment whom it has waited for."""
        end = time.monotonic() + LONGEST
        with suppress(RuntimeError):
            while not self.store.check(["failure"]) and time.monotonic() < end:
                time.sleep(SHORTEST)

    def _to_blame(self, rank: int) -> int:
        """Who is waited for may wait for another."""
        seen = {self.rank}
        while (other := self.sign_of(rank).waits_for) is not None and other not in seen:
            seen.add(rank)
            rank = other
        return rank

    def sign_of(self, rank: int) -> Heartbeat:
        with suppress(RuntimeError):
            if self.store.check([f"sign/{rank}"]):
                return Heartbeat(*json.loads(self.store.get(f"sign/{rank}")))
        return Heartbeat(0, "", None, "")

    def is_alive(self, rank: int) -> bool:
        """Takes as long as a few signs of life."""
        beat = self.sign_of(rank).beat
        for _ in range(8):
            time.sleep(self.beat / 4)
            if self.sign_of(rank).beat != beat:
                return True
        return False

    def gone(self, rank: int) -> TrainingError:
        return self.failed(rank, f"Rank {rank} is gone: it was killed, or its machine is out of reach.")

    def failed(self, rank: int, what: str) -> TrainingError:
        """What is wrong with that rank, unless a rank has said before what is wrong with another."""
        failure = {"rank": rank, "what": what}
        try:
            failure = json.loads(self.store.compare_set("failure", "", json.dumps(failure)))
        except RuntimeError:  # the store lives in torchrun, or in the first rank
            failure = {"rank": 0, "what": "Rank 0 is gone, or torchrun on its machine."}
        return TrainingError(
            str(failure["what"]),
            where=f"rank {self.rank}, {self.doing}, at {stack_of(self._main)}",
            expected="an answer of every rank",
            hint=f"See what rank {failure['rank']} said last; then resume: {self.again}",
        )

    def _raise_failure(self) -> None:
        if self.store.check(["failure"]):
            raise self.failed(self.rank, "")

    def say_failed(self, error: BaseException) -> None:
        """Before this rank ends, so that the others need not wait for it."""
        said = error.what if isinstance(error, DragomanError) else f"{type(error).__name__}: {error}"
        if isinstance(error, KeyboardInterrupt | SystemExit):
            said = "it was asked to stop"
        self.failed(self.rank, f"Rank {self.rank} ended: {said.partition(chr(10))[0]}")
        if self.rank == 0:
            atexit.register(linger, self.store)

    def leave(self, *, done: bool) -> None:
        with suppress(RuntimeError):
            self.store.set(f"left/{self.rank}", "")
            end = time.monotonic() + LINGER_SECONDS
            while done and self.rank == 0 and time.monotonic() < end:
                if self.store.check([f"left/{rank}" for rank in range(self.count)]):
                    break
                time.sleep(LONGEST)
        self._over.set()
        self._heart.join()


def linger(store: Store) -> None:
    """The store may end with the process of the first rank: the others need a moment to read why."""
    time.sleep(2 * LONGEST)


def rendezvous(store: Store, rank: int, count: int) -> str:
    """A name for this start of the run, the same on all ranks and never used before.

    After a restart the store may still hold what the ranks before had said. So each rank greets with a word
    that nobody has used, and the first rank answers every word it sees until all have understood.
    """
    end = time.monotonic() + START_TIMEOUT
    if rank:
        word = uuid.uuid4().hex
        store.set(f"word/{rank}", word)
        await_keys(store, [f"answer/{word}"], end, 0)
        name: str = store.get(f"answer/{word}").decode()
        store.set(f"met/{name}/{rank}", "")
        return name
    name = uuid.uuid4().hex
    absent = list(range(1, count))
    while absent:
        for other in absent:
            if store.check([f"word/{other}"]):
                store.set(f"answer/{store.get(f'word/{other}').decode()}", name)
        absent = [other for other in absent if not store.check([f"met/{name}/{other}"])]
        if absent and time.monotonic() > end:
            raise never_came(absent)
        time.sleep(SHORTEST)
    return name


def await_keys(store: Store, keys: Sequence[str], end: float, rank: int) -> None:
    while not store.check(list(keys)):
        if time.monotonic() > end:
            raise never_came([rank])
        time.sleep(SHORTEST)


def never_came(ranks: Sequence[int]) -> TrainingError:
    named = ", ".join(str(rank) for rank in ranks)
    return TrainingError(
        f"Rank {named} did not start within {START_TIMEOUT / 60:.0f} minutes.",
        expected="all ranks started at about the same time",
        hint="See what it said last.",
    )


def stack_of(thread: int) -> str:
    """The innermost calls of the package in a thread, such as "training/distributed/ranks.py:41 sum"."""
    calls = []
    for frame, line in traceback.walk_stack(sys._current_frames().get(thread)):
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(HERE) and file != Path(__file__):
            calls.append(f"{file.relative_to(HERE).as_posix()}:{line} {frame.f_code.co_name}")
    return " in ".join(calls[:FRAMES]) or "its start"
