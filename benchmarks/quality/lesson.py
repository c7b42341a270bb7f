"""Does the lesson show what it claims? `from-rnn-to-attention` with several seeds, also on a busy machine.

    python -m benchmarks.quality.lesson OUT [--seeds 1 2 3 4 5] [--busy]
    python -m benchmarks.quality.lesson --draw OUT/1/comparison.json

Each is `dragoman new from-rnn-to-attention --train`, as a user types it, with another training.seed. The
table has the words that are right in the shortest and the longest third of the sources. Without attention
they must fall by a fifth or more, and with it by less than a tenth. The second command keeps the picture of
one lesson in docs/pictures, with its data.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.quality.budgets import neighbour
from benchmarks.results_page import keep_picture
from dragoman.cli.verbs.lesson import WITHOUT_ATTENTION, parts_of, picture

LESSON = "from-rnn-to-attention"
FALLS, STAYS = 0.2, 0.1  # of the words that are right


def run(out: Path, seed: int, *, busy: bool) -> float:
    """Seconds of the whole lesson."""
    command = [sys.executable, "-m", "dragoman", "new", LESSON, "-o", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    for file in out.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("[training]\n", f"[training]\nseed = {seed}\n"), encoding="utf-8")
    start = time.perf_counter()
    with neighbour(busy):
        subprocess.run([*command, "--train"], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--draw", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--busy", action="store_true")
    args = parser.parse_args()
    if args.draw:
        keep_picture(LESSON, json.loads(args.draw.read_text(encoding="utf-8")), picture)
        return
    if args.out is None:
        parser.error("OUT is needed")
    failed = []
    for seed in args.seeds:
        out = args.out / f"{seed}{'-busy' if args.busy else ''}"
        seconds = run(out, seed, busy=args.busy)
        print(f"seed {seed}{', beside a busy process' if args.busy else ''}: {seconds:.0f} s")
        for model in json.loads((out / "comparison.json").read_text(encoding="utf-8")):
            parts = parts_of({int(length): share for length, share in model["by_length"].items()})
            first, last = parts[0][2], parts[-1][2]
            is_shown = first - last > FALLS if model["name"] in WITHOUT_ATTENTION else first - last < STAYS
            failed += [] if is_shown else [(seed, model["name"])]
            print(f"  {model['name']:<16}{100 * first:6.1f} %{100 * last:8.1f} %  {'' if is_shown else '!'}")
        sys.stdout.flush()
    sys.exit(f"Not as claimed: {failed}" if failed else 0)


if __name__ == "__main__":
    main()
