"""What a stranger can do to a model folder: seconds and memory until each verb has refused it.

    python -m benchmarks.robustness.refused [FOLDER]

The folders are those of tests/hostile/refused.py, and an archive whose members overlap. Each is given to
`check`, `run` and `load` (the archive to `import` besides), each time in a new process,
whose start counts. Each must name what is wrong in less than 2 s and 300 MB.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import add_record, record

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
REFUSED: Any = importlib.import_module("hostile.refused")
# A process that was forked counts its parent's memory as its own in `ru_maxrss`, but not in VmHWM.
DRIVER = """
import sys
import dragoman
from dragoman.cli.main import main
from dragoman.errors import DragomanError

if sys.argv[1] == "load":
    try:
        dragoman.load(sys.argv[2])
        code = 0
    except DragomanError as error:
        code = 1
        print(error)
else:
    code = main(sys.argv[1:])
print(code)
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
SECONDS, MEGABYTES = 2.0, 300.0


class Case(NamedTuple):
    name: str
    words: tuple[str, ...]  # that the refusal must have
    commands: dict[str, list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("home", nargs="?", type=Path, help="for the folders (default: a temporary one)")
    add_record(parser)
    args = parser.parse_args()
    slowest, largest, faults = 0.0, 0.0, []
    with tempfile.TemporaryDirectory(dir=args.home) as home:
        print(f"{'':26}{'verb':10}{'seconds':>8}{'MB':>7}")
        for case in cases(Path(home)):
            for verb, command in case.commands.items():
                seconds, megabytes, fault = refusal(command, case.words)
                print(f"{case.name:26}{verb:10}{seconds:8.2f}{megabytes:7.0f}  {fault}", flush=True)
                slowest, largest = max(slowest, seconds), max(largest, megabytes)
                faults += [f"{case.name}, {verb}: {fault}"] if fault else []
    facts = {"seconds": round(slowest, 2), "megabytes": round(largest), "faults": faults}
    print(json.dumps({"benchmark": "refused", **facts}))
    if args.record:
        record("refused.seconds", round(slowest, 1), "seconds")
        record("refused.memory", round(largest), "MB")
    return int(bool(faults))


def cases(home: Path) -> Iterator[Case]:
    REFUSED.make_good(home)
    for number, trick in enumerate([*REFUSED.TRICKS, *REFUSED.IN_EXPORT]):
        folder = home / f"trick-{number}"
        shutil.copytree(home / "good" / "model", folder / "model", symlinks=True)
        trick.play(folder / "model", home / "other" / "model")
        yield Case(trick.name, trick.words, commands(folder))
        shutil.rmtree(folder)
    archive = home / "archive"
    archive.mkdir()
    REFUSED.overlapping(archive / "model.npz")
    taken = ["import", str(archive), "-o", str(home / "imported")]
    yield Case("overlapping npz", ("model.npz", "would unpack to"), {"import": taken})
    yield Case("overlapping npz", (str(archive),), commands(archive))


def commands(folder: Path) -> dict[str, list[str]]:
    return {
        "check": ["check", str(folder)],
        "run": ["run", str(folder), "a cat"],
        "load": ["load", str(folder)],
    }


def driven(command: list[str]) -> list[str]:
    """The lines that it prints, the code that it ends with, and the most memory that it had, in kB."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *command],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout.splitlines()


def refusal(command: list[str], words: tuple[str, ...]) -> tuple[float, float, str]:
    """Seconds, megabytes, and what was not as it has to be."""
    start = time.perf_counter()
    *said, code, kilobytes = driven(command)
    seconds, megabytes = time.perf_counter() - start, int(kilobytes) / 1024
    text = "\n".join(said)
    kept = {
        "was not refused": code != "0",
        f"does not say {words}: {text[-200:]}": all(word in text for word in words),
        f"took longer than {SECONDS:.0f} s": seconds < SECONDS,
        f"took more than {MEGABYTES:.0f} MB": megabytes < MEGABYTES,
    }
    return seconds, megabytes, "; ".join(fault for fault, is_kept in kept.items() if not is_kept)


if __name__ == "__main__":
    sys.exit(main())
