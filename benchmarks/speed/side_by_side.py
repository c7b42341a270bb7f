"""Two trainings at once: how many times as long is each as alone? With threads that spin, and that sleep.

    python -m benchmarks.speed.side_by_side OUT [--updates 150] [--preset transformer-tiny]

Each is `dragoman train` on 3,000 pairs of Multi30k with all cores, as a user types it; its time is that of
the whole command. OMP_WAIT_POLICY says what a thread does while it waits for the others of its process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.quality.defaults import DATA, lines, part
from benchmarks.results import add_record, record


def start(home: Path, name: str, updates: int, preset: str, policy: str) -> subprocess.Popen[bytes]:
    out = home / name
    command = [sys.executable, "-m", "dragoman", "train", str(home / "train.en"), str(home / "train.de")]
    settings = [f"model.preset={preset}", f"training.updates={updates}", f"training.validate_every={updates}"]
    more = [f"training.checkpoint_every={updates}", "training.average=1", "training.batch_tokens=4096"]
    environment = {**os.environ, **({"OMP_WAIT_POLICY": policy} if policy else {})}
    environment.pop("OMP_NUM_THREADS", None)
    return subprocess.Popen(
        [*command, "-o", str(out), "--yes", "--force", *settings, *more],
        env=environment,
        stderr=subprocess.DEVNULL,
    )


def measure(home: Path, names: list[str], updates: int, preset: str, policy: str) -> float:
    """Seconds until the last one is done."""
    begin = time.perf_counter()
    running = [start(home, name, updates, preset, policy) for name in names]
    for one in running:
        if one.wait():
            raise SystemExit(f"A training ended with {one.returncode}.")
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--preset", default="transformer-tiny")
    add_record(parser)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    sides = (lines(DATA / "multi30k" / f"train.{side}")[:3000] for side in ("en", "de"))
    part(args.out, "train", *sides)
    print("| threads | alone | two at once | ratio |\n|---|---|---|---|")
    for policy, words in (("", "as they are"), ("PASSIVE", "that sleep")):
        alone = measure(args.out, ["one"], args.updates, args.preset, policy)
        both = measure(args.out, ["one", "two"], args.updates, args.preset, policy)
        print(f"| {words} | {alone:.0f} s | {both:.0f} s | {both / alone:.2f} |", flush=True)
        if args.record and not policy:
            note = f"{both:.0f} and {alone:.0f} seconds for {args.updates} updates of `{args.preset}`"
            record("side_by_side", round(both / alone, 2), "×", note=note)


if __name__ == "__main__":
    main()
