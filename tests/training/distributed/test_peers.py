"""What ranks tell each other through the store: each rank is a thread here, the store is the real one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import NamedTuple

import pytest
import torch
import torch.distributed as dist

from dragoman.errors import DataError, TrainingError
from dragoman.training.distributed.limited_store import GRACE
from dragoman.training.distributed.peers import Peers
from dragoman.training.distributed.ranks import Ranks, connect

WAIT = timedelta(seconds=30)


@pytest.fixture
def server() -> dist.TCPStore:
    return dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=WAIT)


class Run:
    """Some ranks of a run, each in a thread of its own."""

    def __init__(self, port: int, count: int, timeout: float = 0.5) -> None:
        self.count, self.timeout = count, timeout
        self.threads = ThreadPoolExecutor(count)
        self.port = port
        self.peers = dict(enumerate(self.each(self._meet)))

    def _meet(self, rank: int) -> Peers:
        store = dist.TCPStore("127.0.0.1", self.port, is_master=False, timeout=WAIT)
        return Peers(store, rank, self.count, timeout=self.timeout, again="torchrun … train -o en-de")

    def start(self, work: Callable[[int], object]) -> list[Future[object]]:
        return [self.threads.submit(work, rank) for rank in range(self.count)]

    def each(self, work: Callable[[int], object]) -> list[object]:
        return [future.result(60) for future in self.start(work)]

    def end(self) -> None:
        for peers in self.peers.values():
            peers._over.set()
        self.threads.shutdown()


@pytest.fixture
def start(server: dist.TCPStore) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def begin(count: int, timeout: float = 0.5) -> Run:
        runs.append(Run(server.port, count, timeout))
        return runs[-1]

    yield begin
    for run in runs:
        run.end()


def test_the_first_rank_decides_for_all(start: Callable[..., Run]) -> None:
    run = start(4)
    made = run.each(lambda rank: run.peers[rank].from_first("lot", lambda: {"drawn by": rank}))
    assert made == [{"drawn by": 0}] * 4
    again = run.each(lambda rank: run.peers[rank].from_first("lot", lambda: {"and again": rank}))
    assert again == [{"and again": 0}] * 4


def test_a_wait_has_no_limit_while_there_are_signs_of_life(start: Callable[..., Run]) -> None:
    run = start(2, timeout=0.3)

    def slow() -> str:
        time.sleep(1.5)
        return "prepared"

    assert run.each(lambda rank: run.peers[rank].from_first("data", slow)) == ["prepared"] * 2


def test_all_meet_before_any_goes_on(start: Callable[..., Run]) -> None:
    run, came = start(4), []

    def come(rank: int) -> int:
        time.sleep(0.1 * rank)
        came.append(rank)
        run.peers[rank].meet_at("the door")
        return len(came)

    assert run.each(come) == [4, 4, 4, 4]


def test_silence_is_named_with_rank_place_and_command(start: Callable[..., Run]) -> None:
    run = start(2, timeout=0.5)
    run.peers[0]._over.set()  # as if it were stopped in the middle
    before = time.monotonic()
    with pytest.raises(TrainingError, match="Rank 0 has shown no sign of life for 1 seconds") as caught:
        run.peers[1].from_first("the plan", lambda: 0)
    assert time.monotonic() - before < 5
    assert caught.value.where.startswith("rank 1, the plan, at ")
    assert caught.value.hint.endswith("resume: torchrun … train -o en-de")


def test_what_ended_one_rank_is_said_by_all_others(start: Callable[..., Run]) -> None:
    run = start(3)

    def work(rank: int) -> str:
        if rank == 1:
            run.peers[1].say_failed(DataError("This line is not UTF-8.", where="a.en:7"))
            return ""
        with pytest.raises(TrainingError) as caught:
            run.peers[rank].wait_for(1, "reading", "a key that never comes")
        return caught.value.what

    assert run.each(work) == [
        "Rank 1 ended: This line is not UTF-8.",
        "",
        "Rank 1 ended: This line is not UTF-8.",
    ]


def test_a_restart_does_not_hear_what_was_said_before(start: Callable[..., Run]) -> None:
    """torchrun keeps its store when it starts the ranks again."""
    first = start(2)
    first.each(lambda rank: first.peers[rank].from_first("updates", lambda: 100))
    first.peers[1].say_failed(MemoryError("no memory"))
    first.end()
    second = start(2)
    assert second.each(lambda rank: second.peers[rank].from_first("updates", lambda: 7)) == [7, 7]


def test_who_is_waited_for_may_wait_for_another(start: Callable[..., Run]) -> None:
    run = start(4, timeout=0.5)
    stop = threading.Event()

    def work(rank: int) -> None:
        if rank in (1, 2):
            with run.peers[rank].waiting(3, "update 17"):
                stop.wait(30)

    waiting = run.start(work)
    time.sleep(0.5)  # some signs of life
    with pytest.raises(TrainingError) as caught, run.peers[0].exchanging(2, "update 17"):
        raise RuntimeError("Timed out waiting 500ms for recv operation to complete")
    stop.set()
    assert caught.value.what.startswith("Rank 3 did not reach update 17 within 0.5 seconds.")
    assert [future.result(30) for future in waiting] == [None] * 4


class Server(NamedTuple):
    process: int
    port: int


@pytest.fixture(scope="module")
def another_process() -> Iterator[Server]:
    """A process that hosts a store."""
    program = """
import sys
import torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as process:
        assert process.stdout
        yield Server(process.pid, int(process.stdout.readline()))
        process.kill()


def come_late(peers: Peers) -> None:
    time.sleep(peers.timeout)  # as gloo does
    with peers.exchanging(0, "update 17"):
        raise RuntimeError("Timed out waiting 1000ms for recv operation to complete")


WAITS: dict[str, Callable[[Peers], object]] = {
    "the plan": lambda peers: peers.from_first("the plan", lambda: 0),
    "the door": lambda peers: peers.meet_at("the door"),
    "update 17": come_late,
}


@pytest.mark.slow
@pytest.mark.parametrize("doing", WAITS)
def test_every_wait_ends_if_the_host_of_the_store_stands_still(doing: str, another_process: Server) -> None:
    run = Run(another_process.port, 2, timeout=1.0)
    run.each(lambda rank: run.peers[rank].meet_at("the start"))
    os.kill(another_process.process, signal.SIGSTOP)
    try:
        before = time.monotonic()
        with pytest.raises(TrainingError, match="Rank 0 is gone or out of reach") as caught:
            WAITS[doing](run.peers[1])
        run.peers[1].say_failed(caught.value)
        run.peers[1].leave(done=False)
        assert time.monotonic() - before < 1.0 + GRACE + 2.0
        assert caught.value.where.startswith(f"rank 1, {doing}, at ")
    finally:
        os.kill(another_process.process, signal.SIGCONT)
        run.end()


def test_a_host_of_the_store_that_stood_still_for_a_moment_is_no_failure(another_process: Server) -> None:
    run = Run(another_process.port, 2, timeout=5.0)
    os.kill(another_process.process, signal.SIGSTOP)
    made = run.start(lambda rank: run.peers[rank].from_first("the plan", lambda: 7))
    time.sleep(1.0)
    os.kill(another_process.process, signal.SIGCONT)
    assert [future.result(30) for future in made] == [7, 7]
    run.end()


def test_a_lonely_world_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Exception, match="WORLD_SIZE is 2, but the ranks cannot find each other") as caught:
        connect(timeout=1.0, again="")
    assert "torchrun --nproc-per-node 2" in getattr(caught.value, "hint", "")


def test_restarts_in_the_store_of_killed_ranks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variables that torchrun sets."""
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "3")
    assert Ranks(0, 2).restart_in_same_store
    assert not Ranks(0, 1).restart_in_same_store
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "0")
    assert not Ranks(0, 2).restart_in_same_store
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "3")
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "False")
    assert not Ranks(0, 2).restart_in_same_store


def test_alone_nothing_is_waited_for() -> None:
    ranks = Ranks()
    ranks.join(torch.device("cpu"))
    assert ranks.from_first("the plan", lambda: 5) == 5
    assert ranks.in_turn("data", lambda: "made") == "made"
    ranks.leave()
