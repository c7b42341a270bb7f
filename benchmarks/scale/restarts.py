"""Restarts by torchrun: ranks that are killed, machines that are lost, links that are cut.

    python -m benchmarks.scale.restarts [--parts killed lost back cut] [--times 20] [--store own shared]

killed  rank 0, then rank 1 of two on one machine are killed (SIGKILL) so many times each, in one run each
lost    one of two machines (torchrun and its rank) is killed and does not come back: the other continues
back    the same, and the machine is back after 3 seconds
cut     the link of one machine is cut, with `training.timeout=20`: the other continues

`own` is torchrun with a store that the first rank hosts (TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1), as in launch,
and `shared` its default. The machines are network namespaces, which need root; the one that is lost is not
the host of the rendezvous. For every blow: seconds until the first update of the ranks that torchrun has
started again, and the processor time that one of these ranks has used until then. Every run must end with the
weights of one that was not disturbed. Prints a JSON object a line, and ends with 1 where a run did not come
back, has other weights, or calls a lost rank a bug.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.results import add_record, record
from benchmarks.robustness.same_bits import bits_of, last_step
from benchmarks.scale.emulated_nodes import Node, emulated_nodes, why_not

PARTS = ["killed", "lost", "back", "cut"]
LIMIT = 180.0  # seconds after which a run counts as one that did not come back
PAUSE = 0.01  # seconds between two looks at a run
BETWEEN = 8  # updates between two kills
EVERY = 5  # updates between two checkpoints
AWAY = 3.0  # seconds until a lost machine is back
TIMEOUT = 20  # seconds of an update, after which a cut link is noticed
PORT = 29500
REMOTE = "join_timeout=120,last_call_timeout=5"  # torchrun waits 30 s for more machines unless it is told
BEGINNINGS = ('{"event": "start"', '{"event": "resume"')
BUG = "This is a bug in Dragoman"  # what a lost rank must not be called
PART = ["kind=transformer", "layers=1", "width=16", "heads=2", "ffn=16"]
SETTINGS = [
    *(f"model.{side}.{setting}" for side in ("encoder", "decoder") for setting in PART),
    "text.kind=char",
    "training.updates=12",
    "training.batch_tokens=256",
    "training.threads=1",
    "training.precision=fp32",
    "training.checkpoint_every=6",
    "training.validate_every=6",
    "training.valid_decode=2",
    "training.average=1",
    "search.max_length=8",
]
Row = dict[str, Any]


class DidNotComeBack(Exception):
    pass


def write_data(home: Path) -> None:
    """Words, and the same words reversed."""
    draw = random.Random(1)
    for name, count in {"train": 400, "valid": 20}.items():
        words = ["".join(draw.choices("abcdef", k=draw.randint(2, 9))) for _ in range(count)]
        text = "".join(f"{word}\t{word[::-1]}\n" for word in words)
        (home / f"{name}.tsv").write_text(text, encoding="utf-8")


class Run:
    """A run under torchrun: on one machine with two ranks, or on two with one each."""

    def __init__(self, home: Path, name: str, updates: int, store: str) -> None:
        self.out = home / name
        self.said = home / f"{name}.txt"
        self.store = store
        data = [str(home / "train.tsv"), "--valid", str(home / "valid.tsv")]
        lengths = [f"training.updates={updates}", f"training.validate_every={updates}"]
        settings = [*SETTINGS, *lengths, f"training.checkpoint_every={EVERY}", f"training.timeout={TIMEOUT}"]
        self.train = ["-m", "dragoman", "train", *data, "-o", str(self.out), "--yes", *settings]
        self.agents: list[subprocess.Popen[bytes]] = []
        self.processor: list[float] = []  # seconds of a new rank until its first update, for each blow

    def start(self, *torchrun: str, node: Node | None = None) -> subprocess.Popen[bytes]:
        environment = node.environment() if node else dict(os.environ)
        environment.pop(
            "PYTHONDONTWRITEBYTECODE", None
        )  # an installed package is not compiled at every start
        environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = str(int(self.store == "own"))
        command = [sys.executable, "-m", "torch.distributed.run", *torchrun, *self.train]
        with self.said.open("ab") as said:
            agent = subprocess.Popen(
                node.command(*command) if node else command, stdout=said, stderr=said, env=environment
            )
        self.agents.append(agent)
        return agent

    def start_on(self, node: Node, host: Node) -> subprocess.Popen[bytes]:
        """One rank of this run on a machine of its own; the run may also have one machine only."""
        is_host = str(node == host).lower()
        where = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{host.address}:{PORT}", "--rdzv-id", "job"]
        where += ["--rdzv-conf", f"{REMOTE},is_host={is_host}"]
        return self.start(
            "--nnodes", "1:2", "--nproc-per-node", "1", "--max-restarts", "5", *where, node=node
        )

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > end or all(agent.poll() is not None for agent in self.agents):
                raise DidNotComeBack(f"{what}: {self.said.read_text(encoding='utf-8')[-2000:]}")
            time.sleep(PAUSE)

    def wait_for_updates(self, count: int) -> None:
        """So many updates from now, and a checkpoint."""
        goal = last_step(self.out) + count
        self.wait_until(lambda: last_step(self.out) >= goal, f"update {goal}")
        self.wait_until(lambda: any((self.out / "checkpoints").glob("step-*")), "a checkpoint")

    def beginning(self) -> tuple[str, bool]:
        """The last event that says where the ranks began, and whether there is an update after it."""
        lines = (self.out / "events.jsonl").read_text(encoding="utf-8").split("\n")
        begun = max(n for n, line in enumerate(lines) if line.startswith(BEGINNINGS))
        return lines[begun], any(line.startswith('{"event": "step"') for line in lines[begun:])

    def seconds_after(self, blow: Callable[[], None]) -> float:
        """Seconds from the blow to the first update of ranks that began after it."""
        before, _ = self.beginning()
        moment = time.monotonic()
        blow()

        def is_back() -> bool:
            begun, has_update = self.beginning()
            return begun != before and has_update

        self.wait_until(is_back, "an update after the blow")
        seconds = round(time.monotonic() - moment, 2)
        ranks = [rank for agent in self.agents if agent.poll() is None for rank in children_of(agent.pid)]
        self.processor.append(max(map(processor_seconds, ranks)))
        return seconds

    def end(self) -> str:
        """Wait for the end on the first machine; the hash of the weights."""
        self.wait_until(lambda: self.agents[0].poll() is not None, "the end")
        model = self.out / "model"
        return str(bits_of(self.out)["weights"]) if model.exists() else "no model"

    def stop(self) -> int:
        """End at once what is left, such as a machine whose link is cut; the number of processes."""
        left = 0
        for agent in self.agents:
            if agent.poll() is None:
                processes = [*children_of(agent.pid), agent.pid]
                for process in processes:
                    os.kill(process, signal.SIGKILL)
                agent.wait()
                left += len(processes)
        return left


def rank_of(agent: subprocess.Popen[bytes], rank: int) -> int:
    """The process of this rank, a child of torchrun."""
    for child in children_of(agent.pid):
        environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if f"RANK={rank}".encode() in environment:
            return child
    raise LookupError(f"rank {rank} is not there")


def children_of(process: int) -> list[int]:
    file = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in file.read_text().split()]


def processor_seconds(process: int) -> float:
    """In user and kernel mode."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_ranks(run: Run, rank: int, times: int) -> Iterator[float]:
    agent = run.start("--standalone", "--nproc-per-node", "2", "--max-restarts", str(times))
    for _ in range(times):
        run.wait_for_updates(BETWEEN)
        process = rank_of(agent, rank)
        yield run.seconds_after(functools.partial(os.kill, process, signal.SIGKILL))


def lose_machine(run: Run, nodes: list[Node], part: str) -> Iterator[float]:
    host, other = nodes
    run.start_on(host, host)
    agent = run.start_on(other, host)
    run.wait_for_updates(BETWEEN)

    def blow() -> None:
        if part == "cut":
            other.link("down")
            return
        for process in (*children_of(agent.pid), agent.pid):
            os.kill(process, signal.SIGKILL)
        agent.wait()
        if part == "back":
            time.sleep(AWAY)
            run.start_on(other, host)

    yield run.seconds_after(blow)


def judged(run: Run, weights: str, blows: Iterator[float], **what: Any) -> Row:
    """What a run did under these blows; good if it ended with these weights."""
    seconds: list[float] = []
    found, error = "", ""
    try:
        for second in blows:
            seconds.append(second)
            load = round(os.getloadavg()[0], 1)
            print(f"{what} {second} s, load {load}", file=sys.stderr, flush=True)
        found = run.end()
    except DidNotComeBack as failure:
        error = str(failure)
    finally:
        left = run.stop()
    most = {"median": statistics.median(seconds), "longest": max(seconds)} if seconds else {}
    bugs = run.said.read_text(encoding="utf-8").count(BUG)
    good = found == weights and not bugs
    return {
        **what,
        "seconds": seconds,
        **most,
        "processor": run.processor,
        "load": round(os.getloadavg()[0], 1),
        "same": found == weights,
        "bugs": bugs,
        "left": left,
        "error": error,
        "good": good,
    }


def undisturbed(home: Path, updates: int) -> str:
    """The weights of the same run in one process."""
    run = Run(home, "undisturbed", updates, "own")
    run.start("--standalone", "--nproc-per-node", "1")
    return run.end()


def rows(home: Path, parts: list[str], stores: list[str], times: int) -> Iterator[Row]:
    updates = (times + 2) * (BETWEEN + EVERY)
    weights = undisturbed(home, updates)
    for part, store in itertools.product(parts, stores):
        if part == "killed":
            for rank in (0, 1):
                run = Run(home, f"killed-{rank}-{store}", updates, store)
                blows = kill_ranks(run, rank, times)
                yield judged(run, weights, blows, part=part, store=store, rank=rank)
        elif reason := why_not():
            yield {"part": part, "store": store, "skipped": reason, "good": True}
        else:
            run = Run(home, f"{part}-{store}", updates, store)
            with emulated_nodes(2) as nodes:
                yield judged(run, weights, lose_machine(run, nodes, part), part=part, store=store)


def keep(row: Row) -> None:
    if row["part"] == "killed":
        key = ("first", "second")[row["rank"]]
        record(f"restarts.{key}_least", round(min(row["seconds"]), 1), "seconds")
        record(f"restarts.{key}_most", round(max(row["seconds"]), 1), "seconds")
    else:
        record(f"restarts.{row['part']}", round(statistics.median(row["seconds"])), "seconds")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--store", nargs="+", choices=("own", "shared"), default=["own"])
    add_record(parser)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    good = True
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        for row in rows(Path(folder), args.parts, args.store, args.times):
            print(json.dumps(row), flush=True)
            good = good and row["good"]
            if args.record and row["store"] == "own" and row.get("seconds"):
                keep(row)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
