"""No work lost: runs that are killed, whose disk is full, that are started twice, whose data changes.

    python -m benchmarks.robustness.no_work_lost [--only kills placed replaced disks doubles data]
        [--kills 200] [--placed 70] [--replaced 30] [--disks 50] [--doubles 50] [--data 20] [FOLDER]

kills     kill -9 at random moments of `dragoman train`, started again each time until it is done.
placed    kill -9 at the n-th rename, fsync or unlink of a run, by a trace of its system calls.
replaced  the same for `dragoman score --calibrate`, which replaces a model, with and without an exchange of
          two names in one call.
disks     a disk that is full in the middle of a run: a small tmpfs, or files that may grow no further than
          to a random byte. Sometimes there is room again while it runs, sometimes only afterwards.
doubles   two runs started in one folder, some with --force.
data      a stopped run that finds other data, settings or files when it is resumed.

Each must end with the weights and losses of the run undisturbed, bit for bit; no checkpoint may be lost or
half written on the way; every refusal names the cause and the next command. Runs are forked from a process
that has imported all it needs, so that a life takes a second. Needs Linux and strace; tmpfs needs root.
One line of JSON for each part; exit 1 where anything was found, which is on stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.results import add_record, record

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: a fork has no threads but its own

from benchmarks.robustness.same_bits import bits_of, last_step
from dragoman.cli.main import main as dragoman
from dragoman.cli.training_view import session  # noqa: F401  what `train` needs
from dragoman.durable import verify_folder
from dragoman.tasks import load  # noqa: F401
from dragoman.training.state.checkpoint import checkpoints_of, step_of

UPDATES = 12
SETTINGS = [
    "text.kind=bpe",
    "text.size=300",
    *(
        f"model.{side}.{key}"
        for side in ("encoder", "decoder")
        for key in ("layers=1", "width=16", "heads=2")
    ),
    *(f"model.{side}.ffn=32" for side in ("encoder", "decoder")),
    "search.kind=greedy",
    "search.max_length=8",
    f"training.updates={UPDATES}",
    "training.batch_tokens=100",
    "training.micro_batches=1",
    "training.threads=1",
    "training.precision=fp32",
    "training.warmup=4",
    "training.checkpoint_every=2",
    "training.validate_every=3",
    "training.valid_metric=loss",
    "training.valid_decode=2",
    "data.hold_out=10",
]
CALLS = ("rename", "fsync", "unlinkat")
OFTEN = ("rename", "rename", "fsync", "fsync", "unlinkat")
SAYS_NEXT = ("dragoman train", "the same command", "--force", "-o OTHER")


class Said(NamedTuple):
    code: int  # negative: the signal
    text: str


class Life:
    """One `dragoman …`, in a fork of this process."""

    def __init__(self, arguments: list[str], *, waits: bool = False) -> None:
        self.arguments = arguments
        self._out, end = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(self._live(end, waits=waits))
        os.close(end)

    def _live(self, end: int, *, waits: bool) -> int:
        try:
            null = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((null, 0), (end, 1), (end, 2)):
                os.dup2(source, target)
            sys.stdout, sys.stderr = (open(k, "w", encoding="utf-8") for k in (1, 2))  # noqa: SIM115
            sys.argv = ["dragoman", *self.arguments]
            if waits:
                os.kill(os.getpid(), signal.SIGSTOP)
            code = dragoman(self.arguments)
            sys.stderr.flush()
            return code
        except BaseException:
            traceback.print_exc()
            return 99

    def is_over(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> Said:
        with open(self._out, encoding="utf-8", errors="replace") as out:
            text = out.read()
        return Said(os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), text)


class Part:
    """What one part of the benchmark did, and what it found wrong."""

    def __init__(self, name: str, home: Path, count: int) -> None:
        self.name, self.home, self.count = name, home / name, count
        self.rng = random.Random(name)
        self.did: Counter[str] = Counter()
        self.faults: list[str] = []
        self.home.mkdir()
        self.data = self.home / "data"
        self.data.mkdir()
        lines = [f"{n} {n * 7 % 1000}\t{n * 7 % 1000} {n}\n" for n in range(100, 400)]
        (self.data / "train.tsv").write_text("".join(lines), encoding="utf-8")
        (self.data / "valid.tsv").write_text("1 2\t2 1\n3 4\t4 3\n", encoding="utf-8")
        start = time.monotonic()
        self.finish(self.home / "undisturbed")
        self.seconds = time.monotonic() - start
        assert not self.faults, self.faults
        self.expected = bits_of(self.home / "undisturbed")

    def train(self, out: Path, *more: str, settings: list[str] = SETTINGS) -> list[str]:
        return ["train", str(self.data / "train.tsv"), "-o", str(out), "--yes", *more, *settings]

    def finish(self, out: Path, *more: str, settings: list[str] = SETTINGS) -> None:
        """Let it come to its end."""
        said = Life(self.train(out, *more, settings=settings)).wait()
        if said.code:
            self.fault(out, f"does not end: {said}")

    def compare(self, out: Path) -> None:
        try:
            same = bits_of(out) == self.expected
        except (OSError, ValueError) as error:
            self.fault(out, f"is not there: {error}")
        else:
            if not same:
                self.fault(out, "has other losses or weights")

    def fault(self, out: Path, what: str) -> None:
        self.faults.append(f"{self.name} {out.name}: {what}")

    def refused(self, out: Path, said: Said, cause: str) -> None:
        """A refusal names its cause and what to type next."""
        if said.code not in (1, 2, 3) or cause not in said.text:
            self.fault(out, f"does not name the cause ({cause}): {said}")
        if "  fix " not in said.text or not any(words in said.text for words in SAYS_NEXT):
            self.fault(out, f"does not name the next command: {said}")
        self.look_for_bugs(out, said)

    def look_for_bugs(self, out: Path, said: Said) -> None:
        if "bug in Dragoman" in said.text or "Traceback" in said.text:
            self.fault(out, f"calls it a bug: {said}")

    def whole(self, out: Path, newest: int) -> int:
        """Every folder that has its name is whole; the newest step is not older than it was."""
        folders = [
            *checkpoints_of(out / "checkpoints"),
            out / "model",
            *(out / "store" / n for n in ("text", "held-out")),
        ]
        for folder in folders:
            if folder.exists() and (wrong := verify_folder(folder)):
                self.fault(out, f"{folder.name} is not whole: {wrong}")
        now = max([step_of(folder) for folder in checkpoints_of(out / "checkpoints")], default=0)
        if now < newest:
            self.fault(out, f"update {newest} was saved, and {now} is the newest now")
        return now

    def close(self) -> None:
        shutil.rmtree(self.home)
        print(
            json.dumps({"part": self.name, "count": self.count, **self.did, "faults": len(self.faults)}),
            flush=True,
        )
        for fault in self.faults:
            print(fault, file=sys.stderr, flush=True)


def kills(part: Part) -> None:
    number = 0
    while part.did["kills"] < part.count:
        number += 1
        out, newest = part.home / str(number), 0
        while True:
            life = Life(part.train(out))
            if part.did["kills"] < part.count:
                if part.rng.random() < 0.5:
                    time.sleep(part.rng.uniform(0, part.seconds))
                else:
                    await_step(life, out, newest + part.rng.randint(1, 4))
                    time.sleep(part.rng.uniform(0, 0.05))
                life.send(signal.SIGKILL)
            said = life.wait()
            newest = part.whole(out, newest)
            if said.code == 0:
                break
            if said.code != -signal.SIGKILL:
                part.fault(out, f"does not go on: {said}")
                break
            part.did["kills"] += 1
            part.did["kills before the first checkpoint" if not newest else "kills after it"] += 1
        part.did["runs"] += 1
        part.compare(out)
        shutil.rmtree(out)


def placed(part: Part) -> None:
    calls = traced(part.train(part.home / "counted"), part.home / "trace")
    for number in range(part.count):
        call = part.rng.choice(OFTEN)
        out, at = part.home / str(number), part.rng.randint(1, calls[call])
        said = struck(part.train(out), call, at)
        if said.code != -signal.SIGKILL:
            part.fault(out, f"was not killed at {call} {at}: {said}")
        part.did[f"at {call}"] += 1
        part.whole(out, 0)
        part.finish(out)
        part.compare(out)
        clean(part, out)
        shutil.rmtree(out)


def clean(part: Part, out: Path) -> None:
    """What the killed ones left is gone."""
    for home in (out, out / "checkpoints", out / "store"):
        if left := [path.name for path in home.iterdir() if ".dragoman-" in path.name]:
            part.fault(out, f"{left} is left")


def replaced(part: Part) -> None:
    """A model that is replaced is the old one or the new one, whole, and runs."""
    old = part.home / "undisturbed"
    command = ["score", "{out}", str(part.data / "valid.tsv"), "--calibrate"]
    answer = Life(["run", str(old), "12 34", "--runtime", "torch"]).wait().text
    calls: dict[bool, Counter[str]] = {}
    for exchanges in (True, False):
        shutil.copytree(old, part.home / "counted")
        arguments = [word.format(out=part.home / "counted") for word in command]
        calls[exchanges] = traced(arguments, part.home / "trace", exchanges=exchanges)
        shutil.rmtree(part.home / "counted")
    for number in range(part.count):
        out, exchanges = part.home / str(number), number % 2 == 0
        names = ("renameat2", *OFTEN[2:]) if calls[exchanges]["renameat2"] and exchanges else OFTEN
        call = part.rng.choice(names)
        shutil.copytree(old, out)
        at = part.rng.randint(1, calls[exchanges][call])
        said = struck([word.format(out=out) for word in command], call, at, exchanges=exchanges)
        if said.code != -signal.SIGKILL:
            part.fault(out, f"was not killed at {call} {at}: {said}")
        part.did[f"at {call}, {'an exchange' if exchanges else 'two renames'}"] += 1
        checked = Life(["check", str(out)]).wait()
        if checked.code:
            part.fault(out, f"killed at {call} {at}: {checked}")
        if (
            Life(["run", str(out), "12 34", "--runtime", "torch"]).wait().text.split("\n")[0]
            != answer.split("\n")[0]
        ):
            part.fault(out, "answers otherwise")
        shutil.rmtree(out)


def traced(arguments: list[str], log: Path, *, exchanges: bool = True) -> Counter[str]:
    """How often an undisturbed life makes each call, on its main thread."""
    life = Life(arguments, waits=True)
    with strace(life, ["-o", str(log), *without_exchange(exchanges)]):
        said = life.wait()
    assert said.code == 0, said
    first = f"{life.pid} "
    lines = [
        line.removeprefix(first).lstrip() for line in log.read_text().split("\n") if line.startswith(first)
    ]
    return Counter(line.partition("(")[0] for line in lines)


def struck(arguments: list[str], call: str, at: int, *, exchanges: bool = True) -> Said:
    life = Life(arguments, waits=True)
    options = ["-o", os.devnull, "-e", f"inject={call}:signal=KILL:when={at}", *without_exchange(exchanges)]
    with strace(life, options):
        return life.wait()


def without_exchange(exchanges: bool) -> list[str]:
    return [] if exchanges else ["-e", "inject=renameat2:error=EINVAL"]


@contextlib.contextmanager
def strace(life: Life, options: list[str]) -> Iterator[None]:
    """Traces a life that waits, and lets it go on."""
    trace = ["-e", f"trace={','.join((*CALLS, 'renameat2'))}"]
    tracer = subprocess.Popen(["strace", "-f", "-qq", *trace, *options, "-p", str(life.pid)])
    status = Path(f"/proc/{life.pid}/status")
    while "TracerPid:\t0\n" in status.read_text():
        assert tracer.poll() is None, "strace cannot trace"
        time.sleep(0.005)
    life.send(signal.SIGCONT)
    yield
    tracer.wait()


def disks(part: Part) -> None:
    settings = [*SETTINGS, "training.average=1"]  # a mean of checkpoints has to have them all
    part.finish(part.home / "alone", settings=settings)
    part.expected = bits_of(part.home / "alone")
    for number in range(part.count):
        is_tmpfs = number % 2 == 0
        with (tmpfs if is_tmpfs else plain)(part.home / f"disk{number}") as home:
            out = home / "run"
            life = Life(part.train(out, settings=settings))
            fill, empty = ballast(home, part.rng) if is_tmpfs else limit(life.pid, part.rng)
            await_step(life, out, part.rng.randint(-1, UPDATES - 1))
            fill()
            if part.rng.random() < 0.5:
                time.sleep(part.rng.uniform(0, part.seconds / 2))
                empty()
            said = life.wait()
            part.did["a small disk" if is_tmpfs else "a random byte"] += 1
            part.did["saves that were told to have failed"] += said.text.count("Not saved:")
            part.look_for_bugs(out, said)
            if said.code:
                part.did["runs that ended, and were resumed"] += 1
                part.refused(out, said, "be written")
                if "MB free" not in said.text and "token store" not in said.text:
                    part.fault(out, f"does not say how much is free: {said}")
            empty()
            part.whole(out, 0)
            if said.code:
                part.finish(out, settings=settings)
            else:
                part.did["runs that went on to the end"] += 1
            part.compare(out)


def await_step(life: Life, out: Path, step: int) -> None:
    """Until it has done so many updates; before the first where it is negative."""
    while step >= 0 and not life.is_over() and last_step(out) < step:
        time.sleep(0.002)


Act = Callable[[], None]


def ballast(home: Path, rng: random.Random) -> tuple[Act, Act]:
    """A file that leaves a random rest of the disk, less than two saves need."""
    file = home / "ballast"

    def fill() -> None:
        free = shutil.disk_usage(home).free - rng.randint(0, 300_000)
        with file.open("wb") as new, contextlib.suppress(OSError):
            os.posix_fallocate(new.fileno(), 0, max(free, 1))

    return fill, lambda: file.unlink(missing_ok=True)


def limit(pid: int, rng: random.Random) -> tuple[Act, Act]:
    """Files that may not grow beyond a random byte of a save."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def set_to(size: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))

    return lambda: set_to(rng.randint(0, 150_000)), lambda: set_to(before[0])


@contextlib.contextmanager
def tmpfs(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextlib.contextmanager
def plain(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def doubles(part: Part) -> None:
    for number in range(part.count):
        out, force = part.home / str(number), ["--force"] if number % 3 == 0 else []
        first = Life(part.train(out))
        time.sleep(part.rng.uniform(0, part.seconds * 0.7))
        second = Life(part.train(out, *force))
        said = [first.wait(), second.wait()]
        for one in said:
            part.look_for_bugs(out, one)
        done = [one for one in said if one.code == 0]
        for one in said:
            if one.code:
                part.did[
                    "refused while the other ran"
                    if "is being trained by process" in one.text
                    else "refused, as it was finished"
                ] += 1
                part.refused(
                    out,
                    one,
                    "is being trained by process"
                    if done and "finished" not in one.text
                    else "This run is finished",
                )
        if len(done) == 2 and not force:
            part.fault(out, "both ran")
        part.did["with --force"] += bool(force)
        part.whole(out, 0)
        part.compare(out)
        shutil.rmtree(out)


class Change(NamedTuple):
    make: Callable[[Path], None]
    cause: str  # what the refusal has to say; none where it is no change
    more: tuple[str, ...] = ()


def rewritten(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def make(data: Path) -> None:
        lines = (data / name).read_text(encoding="utf-8").split("\n")[:-1]
        (data / name).write_text("".join(f"{line}\n" for line in change(lines)), encoding="utf-8")

    return make


def nothing(data: Path) -> None:
    pass


TRAIN = "train.tsv is not the file this run started with"
CHANGES = {
    "a line more": Change(
        rewritten("train.tsv", lambda lines: [*lines, "1 1\t1 1"]), f"{TRAIN}: 300 → 301 pairs"
    ),
    "many lines more": Change(rewritten("train.tsv", lambda lines: lines * 3), f"{TRAIN}: 300 → 900 pairs"),
    "a line less": Change(rewritten("train.tsv", lambda lines: lines[:-1]), f"{TRAIN}: 300 → 299 pairs"),
    "the first line gone": Change(
        rewritten("train.tsv", lambda lines: lines[1:]), f"{TRAIN}: 300 → 299 pairs"
    ),
    "another digit": Change(
        rewritten("train.tsv", lambda lines: ["9" + lines[0][1:], *lines[1:]]), f"{TRAIN}: 300 pairs as"
    ),
    "the lines turned round": Change(
        rewritten("train.tsv", lambda lines: lines[::-1]), f"{TRAIN}: 300 pairs as before"
    ),
    "a space at the end": Change(
        rewritten("train.tsv", lambda lines: [*lines[:-1], lines[-1] + " "]), f"{TRAIN}: 300 pairs"
    ),
    "another alphabet": Change(
        rewritten(
            "train.tsv",
            lambda lines: [line.translate({d: d + 0x3C0 for d in range(48, 58)}) for line in lines],
        ),
        f"{TRAIN}: 300 pairs",
    ),
    "the sides exchanged": Change(
        rewritten("train.tsv", lambda lines: ["\t".join(line.split("\t")[::-1]) for line in lines]),
        f"{TRAIN}: 300 pairs",
    ),
    "an empty line": Change(
        rewritten("train.tsv", lambda lines: [*lines, "\t"]), f"{TRAIN}: 300 → 301 pairs"
    ),
    "validation files": Change(
        nothing,
        "The validation pairs are not those this run started with: 10 → 2 pairs",
        ("--valid", "{data}/valid.tsv"),
    ),
    "more held out": Change(nothing, "data.hold_out was 10, is 12", ("data.hold_out=12",)),
    "shorter pairs": Change(nothing, "data.max_length was 256, is 9", ("data.max_length=9",)),
    "cleaning": Change(nothing, "data.clean was False, is True", ("data.clean=true",)),
    "another weight": Change(
        nothing, "was 1 and is now 2", ("data.train=[{files=['{data}/train.tsv'], weight=2}]",)
    ),
    "three corpora": Change(
        nothing,
        "The number of corpora in data.train was 1 and is now 3",
        ("data.train=['{data}/train.tsv', '{data}/valid.tsv', '{data}/valid.tsv']",),
    ),
    "another size of vocabulary": Change(nothing, "text.size was 300, is 310", ("text.size=310",)),
    "a touched file": Change(lambda data: os.utime(data / "train.tsv"), ""),
    "a copied file": Change(rewritten("train.tsv", lambda lines: lines), ""),
    "another size of shards": Change(nothing, "", ("data.shard_pairs=50",)),
}


def data(part: Part) -> None:
    good = (part.data / "train.tsv").read_bytes()
    for number, (name, change) in enumerate(list(CHANGES.items())[: part.count]):
        out = part.home / str(number)
        life = Life(part.train(out))
        await_step(life, out, part.rng.randint(1, UPDATES - 4))
        life.send(signal.SIGTERM)
        stopped = life.wait()
        newest, before = part.whole(out, 1), kept(out)
        if stopped.code != 128 + signal.SIGTERM:
            part.fault(out, f"does not stop: {stopped}")
        change.make(part.data)
        more = [word.replace("{data}", str(part.data)) for word in change.more]
        said = Life([*part.train(out), *more]).wait()
        part.look_for_bugs(out, said)
        if change.cause:
            part.did["refused"] += 1
            part.refused(out, said, change.cause)
            if kept(out) != before:
                part.fault(out, f"{name}: what it needs to go on was changed")
        else:
            part.did["taken for the same"] += 1
            if said.code:
                part.fault(out, f"{name}: {said}")
        (part.data / "train.tsv").write_bytes(good)
        if change.cause:
            part.whole(out, newest)
            part.finish(out)
        part.compare(out)
        shutil.rmtree(out)


def kept(out: Path) -> dict[str, bytes]:
    files = [*(out / "checkpoints").rglob("*"), *(out / "store" / "text").rglob("*")]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


PARTS = {
    "kills": kills,
    "placed": placed,
    "replaced": replaced,
    "disks": disks,
    "doubles": doubles,
    "data": data,
}
COUNTS = {"kills": 200, "placed": 70, "replaced": 30, "disks": 50, "doubles": 50, "data": len(CHANGES)}

KINDS = {
    "kills": "kills at random moments",
    "placed": "kills in renames, fsync and unlink",
    "replaced": "kills while a model is replaced",
    "disks": "full disks",
    "doubles": "second starts in one folder",
    "data": "resumes with other data",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for the runs (default: the system's temporary)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    for name, count in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N")
    add_record(parser)
    args = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory(dir=args.folder) as home:
        for name in args.only:
            part = Part(name, Path(home), getattr(args, name))
            PARTS[name](part)
            part.close()
            found += len(part.faults)
            if args.record:
                lost = "checkpoints lost, runs mixed up, or runs that end without an error message"
                record(
                    f"no_work_lost.{name}",
                    len(part.faults),
                    f"of {getattr(args, name)}",
                    what=f"{lost}: {KINDS[name]}",
                )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
