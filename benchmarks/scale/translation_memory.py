"""A translation memory of a million units: how fast TMX is read, and in how much memory.

    python -m benchmarks.scale.translation_memory [FOLDER] [--units 100000 1000000]

Memories of made-up sentences, of about twelve words a side, are written below FOLDER and deleted again. Each
is read with the reader that `check` and `train` use, in a process of its own, on one core; seconds are those
of the processor. Passes where the larger one needs at most 5 % more memory.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

READER = """
import sys, time
from dragoman.data.readers.open_pairs import open_pairs

start = time.process_time()
units = sum(1 for _ in open_pairs([sys.argv[1]]))
seconds = time.process_time() - start
peak = open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]
print(units, seconds, peak)
"""
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
<header creationtool="made up" creationtoolversion="1" datatype="plaintext" segtype="sentence" srclang="en"
 adminlang="en" o-tmf="none"/>
<body>
"""
UNIT = """<tu tuid="{n}" creationdate="20260101T120000Z">
  <tuv xml:lang="en"><seg>{src} &amp; {n}</seg></tuv>
  <tuv xml:lang="de"><seg>{tgt} &amp; {n}</seg></tuv>
</tu>
"""
MOST_GROWTH = 1.05


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="for the files (default: the system's temporary)"
    )
    parser.add_argument("--units", type=int, nargs=2, default=[100_000, 1_000_000], metavar=("FEW", "MANY"))
    args = parser.parse_args()
    rows = [measured(args.folder, units) for units in args.units]
    print(f"{'units':>10}{'MB':>8}{'seconds':>9}{'units/s':>9}{'MB/s':>7}{'peak MB':>9}")
    for row in rows:
        sizes = f"{row['units']:>10,}{row['mb']:>8.0f}{row['seconds']:>9.1f}"
        print(f"{sizes}{row['units_per_second']:>9,.0f}{row['mb_per_second']:>7.1f}{row['peak_mb']:>9.1f}")
    growth = rows[1]["peak_mb"] / rows[0]["peak_mb"]
    print(json.dumps({"benchmark": "translation_memory", "rows": rows, "growth": round(growth, 3)}))
    return int(growth > MOST_GROWTH)


def measured(folder: Path | None, units: int) -> dict[str, float]:
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmx") as file:
        write(Path(file.name), units)
        size = Path(file.name).stat().st_size / 1e6
        command = [sys.executable, "-c", READER, file.name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    read, seconds, peak = map(float, done.stdout.split())
    assert read == units, f"{read} of {units} units were read"
    return {
        "units": units,
        "mb": round(size, 1),
        "seconds": round(seconds, 2),
        "units_per_second": round(units / seconds),
        "mb_per_second": round(size / seconds, 2),
        "peak_mb": round(peak * 1024 / 1e6, 1),
    }


def write(file: Path, units: int) -> None:
    rng = random.Random(1)
    words = [
        ["".join(rng.choices("aeinrstdhlu", k=rng.randint(2, 9))) for _ in range(5_000)] for _ in range(2)
    ]
    with file.open("w", encoding="utf-8") as stream:
        stream.write(HEAD)
        for n in range(units):
            count = rng.randint(6, 18)
            src, tgt = (" ".join(rng.choices(side, k=count)) for side in words)
            stream.write(UNIT.format(n=n, src=src, tgt=tgt))
        stream.write("</body>\n</tmx>\n")


if __name__ == "__main__":
    sys.exit(main())
