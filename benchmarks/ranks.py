"""Ranks that cannot wait for each other for ever: real runs on 2 and 4 ranks, disturbed in many ways.

    python benchmarks/ranks.py [--parts clocks preparation killed hung mixed] [--starts 180] [--torchrun 20]
                               [--seconds 30] [--timeout 5]

clocks        so many starts from a warm process and by `torchrun`, each rank with a clock of its own speed:
              they end, with the same weights every time
preparation   the first rank reads its data for --seconds, while updates have a limit of --timeout
killed        a rank is killed (SIGKILL) in the preparation, a timed update, an update, a validation, a save:
              seconds until the other one says so, and its words; with and without `torchrun`
hung          a rank stands still in its data: the other one says where it stands, after the limit
mixed         a rank is one update ahead: both say so, nothing is added up

Prints a JSON object a line, and ends with 1 where a run did not do as it should.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import hashlib
import json
import math
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from safetensors.numpy import load_file

from dragoman.cli.main import main as dragoman
from dragoman.data import examples
from dragoman.training.state import checkpoint
from dragoman.training.step import AFTER_ALL_WARMUPS, Updater
from dragoman.training.validate import Validator

PARTS = ("clocks", "preparation", "killed", "hung", "mixed")
LIMIT = 240.0  # seconds after which a run counts as one that hangs
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
PLACES = [
    (0, "preparation"),
    (1, "timed update"),
    (0, "timed update"),
    (1, "update"),
    (0, "update"),
    (0, "validation"),
]
Row = dict[str, Any]


def disturb(rank: int, how: Row) -> None:
    """Change this process as a disturbed machine would be."""
    if "clocks" in how:
        draw = random.Random(f"{how['clocks']} {rank}")
        speed, start = math.exp(draw.uniform(0, math.log(3000))), draw.uniform(0, 1e6)
        clock = time.perf_counter
        time.perf_counter = lambda: start + speed * clock()
    if rank == how.get("rank", 0) and "seconds" in how:
        slow_down(how["seconds"])
    if rank == how.get("rank") and "at" in how:
        strike(how["at"], functools.partial(STRIKES[how["strike"]], how))


def slow_down(seconds: float) -> None:
    """The first corpus takes so long to read, once."""
    fast, read = vars(examples)["open_pairs"], 0

    def slow(*arguments: Any, **more: Any) -> Iterator[Any]:
        nonlocal read
        for number, pair in enumerate(fast(*arguments, **more)):
            if number < 20 and read < 20:
                time.sleep(seconds / 20)
                read += 1
            yield pair

    vars(examples)["open_pairs"] = slow


def strike(at: str, now: Callable[[], None]) -> None:
    """Call it at a place of the run, the first time it is reached."""
    third_timed = AFTER_ALL_WARMUPS + 2
    places: dict[str, tuple[Any, str, int | None]] = {  # the number is that of the update
        "preparation": (examples, "open_pairs", None),
        "timed update": (Updater, "update", third_timed),
        "update": (Updater, "update", 4),
        "validation": (Validator, "__call__", None),
        "save": (checkpoint, "save", None),
    }
    owner, name, step = places[at]
    usual, is_struck = getattr(owner, name), False

    def struck(*arguments: Any, **more: Any) -> Any:
        nonlocal is_struck
        if not is_struck and (step is None or arguments[2] == step):
            is_struck = True
            now()
        return usual(*arguments, **more)

    setattr(owner, name, struck)


def die(how: Row) -> None:
    Path(how["moment"]).write_text(str(time.time()), encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)


def stand_still(how: Row) -> None:
    Path(how["moment"]).write_text(str(time.time()), encoding="utf-8")
    time.sleep(how["still"])


def run_ahead(how: Row) -> None:
    usual = Updater.update
    Updater.update = lambda self, batch, step, *more, **named: usual(  # type: ignore[method-assign]
        self, batch, step + 1, *more, **named
    )


STRIKES = {"die": die, "stand still": stand_still, "run ahead": run_ahead}


class Trial:
    """One run on some ranks in a folder of its own."""

    def __init__(self, home: Path, name: str, *more: str, ranks: int = 2, **how: Any) -> None:
        self.ranks = range(ranks)
        self.folder = home / name.replace(" ", "-")
        self.folder.mkdir()
        data = [str(home / "train.tsv"), "--valid", str(home / "valid.tsv")]
        self.arguments = ["train", *data, "-o", str(self.folder / "run"), "--yes", *SETTINGS, *more]
        self.how = {**how, "moment": str(self.folder / "moment")}

    def fork(self) -> list[int]:
        """The ranks as children of this warm process, with nobody who looks after them; their exit codes."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        children = [self._child(rank, port) for rank in self.ranks]
        end = time.monotonic() + LIMIT + self.how.get("seconds", 0)
        codes: dict[int, int] = {}
        while len(codes) < len(children) and time.monotonic() < end:
            for rank, child in enumerate(children):
                if rank not in codes and (ended := os.waitpid(child, os.WNOHANG))[0]:
                    codes[rank] = os.waitstatus_to_exitcode(ended[1])
                    (self.folder / f"ended-{rank}").write_text(str(time.time()), encoding="utf-8")
            time.sleep(0.01)
        for rank, child in enumerate(children):
            if rank not in codes:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        return [codes.get(rank, 999) for rank in self.ranks]

    def _child(self, rank: int, port: int) -> int:
        child = os.fork()
        if not child:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(self.ranks))}
            os.environ |= {"LOCAL_WORLD_SIZE": str(len(self.ranks))}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            self._be(rank)
        return child

    def _be(self, rank: int) -> NoReturn:
        said = os.open(self.folder / f"said-{rank}", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        atexit._clear()  # what was to be done at the end of the parent
        disturb(rank, self.how)
        code = dragoman(self.arguments)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def torchrun(self) -> int:
        """The ranks by `torchrun`; its exit code."""
        script = [
            str(Path(__file__).resolve()),
            "--be",
            json.dumps({"how": self.how, "args": self.arguments}),
        ]
        start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(len(self.ranks))]
        with (self.folder / "said-0").open("wb") as said:
            process = subprocess.Popen([sys.executable, *start, *script], stdout=said, stderr=said)
            try:
                return process.wait(LIMIT + self.how.get("seconds", 0))
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait(60)
                return 999

    def said(self, rank: int) -> str:
        file = self.folder / f"said-{rank}"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def error(self, rank: int) -> str:
        """The first line of the error that a rank ended with."""
        return next((line for line in self.said(rank).split("\n") if line.startswith("error")), "")

    def after(self, rank: int) -> float:
        """Seconds from the blow to the end of a rank."""
        blow, end = (float((self.folder / name).read_text()) for name in ("moment", f"ended-{rank}"))
        return end - blow

    def weights(self) -> str:
        digest = hashlib.sha256()
        for name, tensor in sorted(load_file(self.folder / "run/model/weights.safetensors").items()):
            digest.update(name.encode() + tensor.tobytes())
        return digest.hexdigest()


def clocks(home: Path, starts: int, by_torchrun: int) -> Iterator[Row]:
    for kind, count in {"fork": starts, "torchrun": by_torchrun}.items():
        hung, failed, weights, longest = [], [], set(), 0.0
        for number in range(count):
            trial = Trial(home, f"clocks {kind} {number}", clocks=number)
            began = time.monotonic()
            codes = trial.fork() if kind == "fork" else [trial.torchrun()]
            longest = max(longest, time.monotonic() - began)
            if 999 in codes:
                hung.append(number)
            elif any(codes):
                failed.append([number, trial.error(0), trial.error(1)])
            else:
                weights.add(trial.weights())
            if number % 20 == 19:
                print(f"{kind} {number + 1} of {count}", file=sys.stderr, flush=True)
        row = {"part": "clocks", "by": kind, "starts": count, "hung": hung, "failed": failed}
        good = not hung and not failed and len(weights) == min(count, 1)
        yield {**row, "different_weights": len(weights), "longest": round(longest, 1), "good": good}


def preparation(home: Path, seconds: float, timeout: float) -> Iterator[Row]:
    for kind in ("fork", "torchrun"):
        trial = Trial(home, f"preparation {kind}", f"training.timeout={timeout}", seconds=seconds)
        began = time.monotonic()
        codes = trial.fork() if kind == "fork" else [trial.torchrun()]
        row = {"part": "preparation", "by": kind, "seconds": seconds, "timeout": timeout}
        took = round(time.monotonic() - began, 1)
        yield {**row, "took": took, "codes": codes, "error": trial.error(0), "good": not any(codes)}


def killed(home: Path) -> Iterator[Row]:
    for rank, at in [*PLACES, (0, "save")]:
        yield alone(Trial(home, f"killed {rank} {at}", rank=rank, at=at, strike="die"))
    yield alone(Trial(home, "killed of 4", ranks=4, rank=3, at="update", strike="die"))
    for rank, at in PLACES:
        trial = Trial(home, f"killed by torchrun {rank} {at}", rank=rank, at=at, strike="die")
        code = trial.torchrun()
        blow = float((trial.folder / "moment").read_text())
        row = {"part": "killed", "by": "torchrun", "ranks": 2, "rank": rank, "at": at, "codes": [code]}
        seconds = round((trial.folder / "said-0").stat().st_mtime - blow, 1)
        good = f"Rank {rank} " in trial.error(0) and seconds < 60
        yield {**row, "seconds": seconds, "said": trial.error(0), "good": good}


def alone(trial: Trial) -> Row:
    """Without torchrun: each rank that is left must say by itself who was killed."""
    codes, rank = trial.fork(), trial.how["rank"]
    left = [other for other in trial.ranks if other != rank]
    row = {"part": "killed", "by": "fork", "ranks": len(codes), "rank": rank, "at": trial.how["at"]}
    seconds = round(max(trial.after(other) for other in left), 1)
    good = seconds < 60 and all(codes[other] == 1 and names(trial, other, rank) for other in left)
    return {**row, "codes": codes, "seconds": seconds, "said": trial.error(left[0]), "good": good}


def names(trial: Trial, rank: int, lost: int) -> bool:
    said = trial.said(rank)
    return f"Rank {lost} " in trial.error(rank) and "resume: torchrun" in said and "Traceback" not in said


def hung(home: Path, timeout: float) -> Iterator[Row]:
    for ranks in (2, 4):
        how = {"rank": ranks - 1, "at": "update", "strike": "stand still", "still": timeout + 15}
        trial = Trial(home, f"hung of {ranks}", f"training.timeout={timeout}", ranks=ranks, **how)
        codes = trial.fork()
        said, seconds = trial.error(0), round(trial.after(0), 1)
        row = {"part": "hung", "by": "fork", "ranks": ranks, "rank": ranks - 1, "timeout": timeout}
        good = f"Rank {ranks - 1} did not reach update 4 within" in said and "training/loop.py" in said
        good = good and timeout <= seconds < timeout + 15 and set(codes) == {1}
        yield {**row, "codes": codes, "seconds": seconds, "said": said, "good": good}


def mixed(home: Path) -> Iterator[Row]:
    trial = Trial(home, "mixed", rank=1, at="update", strike="run ahead")
    codes = trial.fork()
    said = [trial.error(rank) for rank in (0, 1)]
    good = codes == [1, 1] and all("different updates" in line for line in said)
    yield {"part": "mixed", "by": "fork", "codes": codes, "said": said, "good": good}


def write_data(home: Path) -> None:
    """Words, and the same words reversed."""
    draw = random.Random(1)
    for name, count in {"train": 400, "valid": 20}.items():
        words = ["".join(draw.choices("abcdef", k=draw.randint(2, 9))) for _ in range(count)]
        text = "".join(f"{word}\t{word[::-1]}\n" for word in words)
        (home / f"{name}.tsv").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--starts", type=int, default=180)
    parser.add_argument("--torchrun", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--timeout", type=float, default=5.0)
    parser.add_argument("--be", help="a rank, as this script starts it")
    args = parser.parse_args()
    if args.be:
        told = json.loads(args.be)
        disturb(int(os.environ["RANK"]), told["how"])
        sys.exit(dragoman(told["args"]))
    os.environ["OMP_NUM_THREADS"] = "1"
    parts: dict[str, Callable[[Path], Iterator[Row]]] = {
        "clocks": lambda home: clocks(home, args.starts, args.torchrun),
        "preparation": lambda home: preparation(home, args.seconds, args.timeout),
        "killed": killed,
        "hung": lambda home: hung(home, args.timeout),
        "mixed": mixed,
    }
    good = True
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        for part in args.parts:
            for row in parts[part](Path(folder)):
                print(json.dumps(row), flush=True)
                good = good and row["good"]
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
