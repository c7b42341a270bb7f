"""Hostile translation memories and documents: seconds and memory until each verb has refused or read it.

    python -m benchmarks.robustness.hostile_documents [FOLDER] [--size 100000000] [--only WORD]

The files are those of tests/hostile/documents.py and tests/hostile/columns.py: entity bombs, external
entities, broken encodings, lines and elements of 100 MB, gzip bombs, broken footers, pipes, loops. Each is
given to `check`, and the documents among them to `run`, each time in a new process. What is refused must
say what and where, without a traceback; nothing of /etc/passwd may be said or written, and nobody may ask
for the address that external entities name. All that in less than 2 s of processor time beyond the bare
start of the verb, and in less than 300 MB; a model in memory is not counted where a document is translated.
"""

from __future__ import annotations

import argparse
import importlib
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
DOCUMENTS: Any = importlib.import_module("hostile.documents")
COLUMNS: Any = importlib.import_module("hostile.columns")
VERBS: Any = importlib.import_module("hostile.verbs")
TAGGED = ("many tags", "script")  # what keeps tags is torch, which takes seconds to load
SECONDS, MEGABYTES, PATIENCE = 2.0, 300.0, 60.0
# A process that was forked counts its parent's memory as its own in `ru_maxrss`, but not in VmHWM.
DRIVER = """
import atexit, os, sys, time

def figures():
    peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
    sys.stderr.flush()
    os.write(2, f"\\nended {time.process_time()} {peak}".encode())

atexit.register(figures)
from dragoman.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class Ended(NamedTuple):
    code: int | None  # None where it hung
    said: str
    seconds: float  # of processor time
    wall: float
    megabytes: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="for the files (default: the system's temporary)"
    )
    parser.add_argument("--size", type=int, default=100_000_000, help="bytes of what is too long")
    parser.add_argument("--only", default="", metavar="WORD", help="attacks that have this word")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=args.folder) as folder,
        socket.create_server(("127.0.0.1", 0)) as ear,
    ):
        ear.setblocking(False)
        found = Findings(Path(folder))
        url = f"http://127.0.0.1:{ear.getsockname()[1]}/secret"
        cases = chain(
            DOCUMENTS.document_cases(Path(folder) / "cases", args.size, url),
            COLUMNS.column_cases(Path(folder) / "columns", args.size),
        )
        for case in cases:
            if args.only in f"{case.attack} {case.file.suffix}":
                found.add(case)
        asked = was_asked(ear)
    faults = found.faults + (["somebody asked for the address of an external entity"] if asked else [])
    print("\n".join(found.table()))
    print(json.dumps({"benchmark": "hostile_documents", **found.facts(), "faults": faults}))
    return int(bool(faults))


class Findings:
    def __init__(self, home: Path) -> None:
        self.model, self.out = str(VERBS.tiny_model(home / "model")), home / "out"
        VERBS.drive("export", self.model, "--to", "ct2")  # starts sooner
        good = home / "good.po"
        good.write_bytes(DOCUMENTS.ENTRY)
        self.bare = {"check": driven(["check", str(good)]), "run": driven(self.command("run", good))}
        good.write_bytes(DOCUMENTS.ENTRY.replace(b"More", b"<b>More</b>"))
        self.bare["run, tags"] = driven(self.command("run", good))
        self.rows: dict[str, list[tuple[str, Ended]]] = defaultdict(list)
        self.files, self.faults = 0, list[str]()
        self.secrets = [line for line in DOCUMENTS.SECRET.read_text().splitlines() if len(line) > 20]

    def command(self, verb: str, file: Path) -> list[str]:
        if verb == "check":
            return ["check", str(file)]
        return ["run", self.model, "--file", str(file), "-o", str(self.out), "--languages", "en", "de"]

    def add(self, case: Any) -> None:
        self.files += 1
        for verb, verdict in (("check", case.check), ("run", case.run)):
            if verdict is None:
                continue
            self.out.unlink(missing_ok=True)
            ended = driven(self.command(verb, case.file))
            start = "run, tags" if case.attack in TAGGED and verb == "run" else verb
            self.rows[case.attack].append((start, ended))
            for fault in self.faults_of(start, verdict, ended):
                self.faults.append(f"{case.attack} ({case.file.suffix}), {verb}: {fault}")
                print(self.faults[-1], file=sys.stderr, flush=True)

    def faults_of(self, verb: str, verdict: str, ended: Ended) -> Iterator[str]:
        wanted = {"read": (0,), "refuse": (2, 3)}[verdict]
        written = self.out.read_text("utf-8", "replace") if self.out.is_file() else ""
        bare = self.start(verb, ended)
        if ended.code not in wanted:
            yield f"ended with {ended.code}, not {wanted}: {ended.said[-300:]}"
        if "Traceback" in ended.said or "bug in Dragoman" in ended.said:
            yield f"a traceback: {ended.said[-300:]}"
        if verdict == "refuse" and not ("where" in ended.said or "✗" in ended.said):
            yield f"without where: {ended.said[-300:]}"
        if verdict == "refuse" and verb != "check" and written:
            yield "refused, and written all the same"
        if any(secret in ended.said + written for secret in self.secrets):
            yield "told a secret"
        if ended.seconds - bare.seconds > SECONDS:
            yield f"{ended.seconds:.1f} s, of which {bare.seconds:.1f} s are the bare start"
        if ended.megabytes - (bare.megabytes if bare is not self.bare["check"] else 0) > MEGABYTES:
            yield f"{ended.megabytes:.0f} MB"
        if len(ended.said) > 5000:
            yield f"{len(ended.said):,} characters said"

    def table(self) -> Iterator[str]:
        yield f"{'':40}{'commands':>9}{'refused':>9}{'read':>6}{'seconds':>9}{'MB':>6}"
        for attack, ended in sorted(self.rows.items()):
            all_ended = [one for _, one in ended]
            read = sum(one.code == 0 for one in all_ended)
            slowest = max(one.seconds - self.start(verb, one).seconds for verb, one in ended)
            largest = max(one.megabytes for one in all_ended)
            counts = f"{len(ended):9}{len(ended) - read:9}{read:6}"
            yield f"{attack:40}{counts}{max(0.0, slowest):9.2f}{largest:6.0f}"

    def start(self, verb: str, ended: Ended) -> Ended:
        return self.bare[verb if ended.code == 0 else "check"]

    def facts(self) -> dict[str, object]:
        ended = [(verb, one) for rows in self.rows.values() for verb, one in rows]
        refused = [(verb, one) for verb, one in ended if one.code != 0]
        return {
            "files": self.files,
            "commands": len(ended),
            "refused": len(refused),
            "read": len(ended) - len(refused),
            "bare_start": {
                verb: [round(one.seconds, 2), round(one.megabytes)] for verb, one in self.bare.items()
            },
            "slowest_refusal": round(max((one.seconds for _, one in refused), default=0.0), 2),
            "largest_refusal_mb": round(max((one.megabytes for _, one in refused), default=0.0)),
            "slowest_refusal_by_the_clock": round(max((one.wall for _, one in refused), default=0.0), 2),
            "slowest_beyond_start": round(
                max(one.seconds - self.start(verb, one).seconds for verb, one in ended), 2
            ),
        }


def driven(command: list[str]) -> Ended:
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        raw = child.communicate(timeout=PATIENCE)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        child.kill()
        raw = child.communicate()[0].decode("utf-8", "replace")
        return Ended(None, raw, 0.0, PATIENCE, 0.0)
    wall = time.perf_counter() - start
    said, _, figures = raw.rpartition("\nended ")
    seconds, kilobytes = map(float, figures.split()) if said else (0.0, 0.0)  # none of what was killed
    return Ended(child.returncode, said, seconds, wall, kilobytes / 1024)


def was_asked(ear: socket.socket) -> bool:
    try:
        ear.accept()[0].close()
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
