"""`dragoman prepare`: the same bytes from every executor and after every kill, its rate and its memory.

    python -m benchmarks.scale.prepare FOLDER [--only same kills rate memory] [--pairs 1000000 10000000]
        [--workers 2] [--kills 20] [--seed 1]

same    one process, a pool, a Slurm array (as many processes as tasks, each with the environment that Slurm
        gives it) and Ray, where it is installed: the files must be the same, byte for byte. So must those
        of `dragoman train`, which prepares them itself.
kills   kill -9 at random moments of a pool, started again each time: the files of one that was not killed.
rate    pairs per second with one worker and with --workers, and per core: the time that the processors
        worked. Passes where --workers are 0.8 × as many times as fast, once reading, which one process does,
        is subtracted.
memory  the peak of all processes together, for FEW and MANY pairs: at most 10 % more. FEW are more than the
        200,000 that the vocabulary is learned from, which are held in memory.

Made-up pairs of about twelve words a side are written below FOLDER and deleted again. One line of JSON for
each part; exit 1 where one did not pass. Needs Linux.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.scale.constant_memory import write_corpus

SMALL = 30_000  # pairs of the parts that compare files
TASKS = 3  # of the Slurm array
MOST_GROWTH = 1.10
LEAST_SPEEDUP = 0.8
EVERY = 0.05  # seconds between two looks at the memory
SETTINGS = ("text.size=8000", "text.sample_lines=200000", "model.preset=transformer-tiny")


class Corpus(NamedTuple):
    train: list[str]
    valid: list[str]

    def arguments(self, out: Path, *more: str) -> list[str]:
        return [*self.train, "--valid", *self.valid, "-o", str(out), *SETTINGS, *more]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where corpora and stores are written, then deleted")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--pairs", type=int, nargs=2, default=[1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    passed = True
    for name in args.only:
        home = args.folder / f"prepare-{name}"
        try:
            found = PARTS[name](home, args)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        print(json.dumps({"benchmark": "prepare", "part": name, **found}), flush=True)
        passed = passed and bool(found["passed"])
    return 0 if passed else 1


def written(home: Path, pairs: int) -> Corpus:
    train, valid = (write_corpus(home, *what) for what in (("train", pairs, 1), ("valid", 500, 2)))
    return Corpus(list(map(str, train)), list(map(str, valid)))


def dragoman(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dragoman", *arguments]


def finish(command: Sequence[str], **environment: str) -> None:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")


def content(out: Path) -> dict[str, str]:
    """The SHA-256 of every file of a store, but for the cache of the hashes of the sources."""
    files = [path for path in (out / "store").rglob("*") if path.is_file() and path.name != "sources.json"]
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def same(home: Path, args: argparse.Namespace) -> dict[str, object]:
    corpus, shards, workers = written(home, SMALL), "data.shard_pairs=1000", str(args.workers)
    outs = {name: home / name for name in ("one", "pool", "array", "ray", "train")}
    finish(dragoman("prepare", *corpus.arguments(outs["one"], shards, "--workers", "1")))
    finish(dragoman("prepare", *corpus.arguments(outs["pool"], shards, "--workers", workers)))
    submit(dragoman("prepare", *corpus.arguments(outs["array"], shards, "--executor", "slurm")))
    finish(dragoman("prepare", "-o", str(outs["array"])))
    finish(dragoman("train", *corpus.arguments(outs["train"], shards, "--plan")))
    if importlib.util.find_spec("ray"):
        ray = ["--executor", "ray", "--workers", workers]
        finish(dragoman("prepare", *corpus.arguments(outs["ray"], shards, *ray)))
    else:
        del outs["ray"]
    found = {name: content(out) for name, out in outs.items()}
    equal = {name: files == found["one"] for name, files in found.items()}
    return {"pairs": SMALL, "files": len(found["one"]), "same": equal, "passed": all(equal.values())}


def submit(command: Sequence[str]) -> None:
    """Run the tasks of an array side by side, as `sbatch --array=0-2` does."""
    array = {"MIN": 0, "MAX": TASKS - 1, "STEP": 1, "COUNT": TASKS}
    tasks = []
    for task in range(TASKS):
        facts = {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in {**array, "ID": task}.items()}
        tasks.append(subprocess.Popen(command, env={**os.environ, **facts}, stderr=subprocess.DEVNULL))
    codes = [task.wait() for task in tasks]
    if any(codes):
        raise SystemExit(f"a task failed: {' '.join(command)}")


def kills(home: Path, args: argparse.Namespace) -> dict[str, object]:
    """Kill it after a random share of the time that is left; if it ends before, start from nothing."""
    corpus, rng = written(home, SMALL), random.Random(args.seed)
    more = ["data.shard_pairs=200", "--workers", str(args.workers)]
    began = time.perf_counter()
    finish(dragoman("prepare", *corpus.arguments(home / "whole", *more)))
    seconds = time.perf_counter() - began
    whole, killed, ends, different = content(home / "whole"), 0, 0, 0
    command = dragoman("prepare", *corpus.arguments(home / "killed", *more))
    while killed < args.kills:
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=rng.uniform(0.2, 0.9) * seconds)
            ends += 1
            different += content(home / "killed") != whole
            shutil.rmtree(home / "killed")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
    finish(command)
    different += content(home / "killed") != whole
    return {"kills": killed, "ends": ends + 1, "different": different, "passed": not different}


class Measured(NamedTuple):
    seconds: float
    core_seconds: float
    peak: int  # bytes of all processes together

    def minus(self, other: Measured) -> Measured:
        return Measured(self.seconds - other.seconds, self.core_seconds - other.core_seconds, self.peak)


def measure(command: Sequence[str]) -> Measured:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(EVERY)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{process.stderr.read() if process.stderr else ''}")
    cores = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(seconds, cores, peak)


def resident(pid: int) -> int:
    """The memory of a process and its children, in bytes; pages that they share count once for each."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:  # it has ended
        return 0
    own = status.partition("VmRSS:")[2].split()
    return (int(own[0]) * 1024 if own else 0) + sum(resident(int(child)) for child in children)


def rate(home: Path, args: argparse.Namespace) -> dict[str, object]:
    """The first preparation of each is stopped after its plan, by a part that has no shards."""
    pairs = args.pairs[0]
    corpus, found = written(home, pairs), {}
    shards = f"data.shard_pairs={max(1, min(500_000, pairs // (4 * args.workers)))}"
    for workers in sorted({1, args.workers}):
        out = home / f"{workers}-workers"
        more = [shards, "--workers", str(workers)]
        nothing = f"{10**9}/{10**9}"
        plan = measure(dragoman("prepare", *corpus.arguments(out, *more, "--part", nothing)))
        again = measure(dragoman("prepare", *corpus.arguments(out, *more, "--part", nothing)))
        shard = measure(dragoman("prepare", *corpus.arguments(out, *more))).minus(again)
        found[workers] = {
            "plan_seconds": round(plan.seconds, 1),
            "shard_seconds": round(shard.seconds, 1),
            "pairs_per_second": round(pairs / shard.seconds),
            "pairs_per_core_second": round(pairs / shard.core_seconds),
        }
        shutil.rmtree(out)
    times = found[1]["shard_seconds"] / found[args.workers]["shard_seconds"]
    return {
        "pairs": pairs,
        "workers": found,
        "times_as_fast": round(times, 2),
        "passed": times >= LEAST_SPEEDUP * args.workers,
    }


def memory(home: Path, args: argparse.Namespace) -> dict[str, object]:
    peaks, seconds = [], []
    for pairs in args.pairs:
        corpus = written(home / str(pairs), pairs)
        out, shards = home / str(pairs) / "out", f"data.shard_pairs={max(1, args.pairs[0] // 10)}"
        found = measure(dragoman("prepare", *corpus.arguments(out, shards, "--workers", str(args.workers))))
        peaks.append(found.peak)
        seconds.append(round(found.seconds, 1))
        shutil.rmtree(home / str(pairs))
    return {
        "pairs": args.pairs,
        "workers": args.workers,
        "seconds": seconds,
        "peak_mb": [round(peak / 1e6) for peak in peaks],
        "growth": round(peaks[1] / peaks[0], 3),
        "passed": peaks[1] <= MOST_GROWTH * peaks[0],
    }


PARTS: dict[str, Callable[[Path, argparse.Namespace], dict[str, object]]] = {
    "same": same,
    "kills": kills,
    "rate": rate,
    "memory": memory,
}


if __name__ == "__main__":
    sys.exit(main())
