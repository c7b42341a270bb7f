"""What `pip install dragoman` puts on a disk, and how soon it answers; a line of JSON.

    python -m benchmarks.speed.base_install MODEL "A man is riding a bicycle." [--keep FOLDER]

A fresh environment gets this project without extras, by pip. Every package in it is weighed, with the byte
code that pip compiles. Then `import dragoman` and the first translation by `dragoman run`, from an empty
process to its end, are timed, by the clock and by the processor's time, which a busy machine leaves as it is;
MODEL is a folder that holds ct2/. There must be no torch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.results import add_record, record

PROJECT = Path(__file__).resolve().parents[2]
MOST_MB, MOST_IMPORT, MOST_FIRST = 200, 0.3, 2.0
TIMES = 7
APART = ("pip", "setuptools")  # of every environment

# The files of each installed package, as its own record has them.
WEIGH = """
import json
from importlib.metadata import distributions
sizes = {}
for package in distributions():
    paths = {path for file in package.files or () if (path := package.locate_file(file)).is_file()}
    sizes[package.name] = [package.version, sum(path.stat().st_size for path in paths)]
print(json.dumps(sizes))
"""


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="use this environment, and leave it")
    add_record(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = args.keep or Path(temporary)
        python = environment(home)
        facts = measured(python, Path(args.model).resolve(), args.text)
    print(json.dumps(facts))
    if args.record:
        record("base_install.size", round(facts["megabytes"]), "MB")
        record("base_install.import", round(facts["import_seconds"], 2), "s")
        record("base_install.first", round(facts["first_seconds"], 1), "s")
    is_light = facts["torch"] is None and facts["megabytes"] <= MOST_MB
    is_quick = facts["import_seconds"] < MOST_IMPORT and facts["first_seconds"] < MOST_FIRST
    return 0 if is_light and is_quick else 1


def environment(home: Path) -> Path:
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        run([str(python), "-m", "pip", "install", "--quiet", str(PROJECT)])
    return python


def measured(python: Path, model: Path, text: str) -> dict[str, Any]:
    packages = json.loads(run([str(python), "-c", WEIGH]))
    sizes = Counter({name: size for name, (_, size) in packages.items() if name not in APART})
    nothing, imports, first = (
        timed([str(python), *arguments])
        for arguments in (
            ["-c", "pass"],
            ["-c", "import dragoman"],
            ["-m", "dragoman", "run", str(model), text],
        )
    )
    return {
        "packages": {name: [packages[name][0], megabytes(size)] for name, size in sizes.most_common()},
        "megabytes": megabytes(sum(sizes.values())),
        "torch": packages.get("torch"),
        "import_seconds": round(imports.clock - nothing.clock, 3),
        "import_cpu_seconds": round(imports.cpu - nothing.cpu, 3),
        "first_seconds": first.clock,
        "first_cpu_seconds": first.cpu,
        "answer": run([str(python), "-m", "dragoman", "run", str(model), text]).strip(),
        "load": round(os.getloadavg()[0], 1),
    }


class Seconds(NamedTuple):
    clock: float
    cpu: float


def timed(command: list[str]) -> Seconds:
    """Medians, from an empty process to its end."""
    found = []
    for _ in range(TIMES):
        clock, before = time.perf_counter(), os.times()
        run(command)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        found.append(Seconds(time.perf_counter() - clock, cpu))
    return Seconds(*(round(statistics.median(values), 3) for values in zip(*found, strict=True)))


def megabytes(size: int) -> float:
    return round(size / 1e6, 1)


def run(command: list[str]) -> str:
    """In no folder of ours, so that what is installed is what is imported."""
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=alone)
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise SystemExit(done.returncode)
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
