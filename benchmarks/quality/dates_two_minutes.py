"""The recipe `dates`, three seeds: test dates exactly right, and the seconds of the whole training command.

    python -m benchmarks.quality.dates_two_minutes OUT [--seeds 1 2 3] [--threads 2]
        [--set section.key=value …]

Runs `dragoman new dates` and, with each seed, `dragoman train` into a folder of its own below OUT, which is
trained anew each time, then scores the test file. Passes where each seed has 99 % within 120 seconds. One
line of JSON each, all of them in OUT/dates_two_minutes.json; exit 1 if one did not pass. `processor` has the
seconds of processor time, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.quality.multi30k import DRAGOMAN
from benchmarks.results import add_record, record
from benchmarks.results_page import Facts, stamp
from benchmarks.run_log import RunLog

RIGHT, SECONDS = 99.0, 120.0


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(recipe: Path, out: Path, settings: list[str]) -> Facts:
    shutil.rmtree(out, ignore_errors=True)
    load, before, began = os.getloadavg()[0], processor_seconds(), time.monotonic()
    subprocess.run([*DRAGOMAN, "train", str(recipe), "-o", str(out), "--yes", *settings], check=True)
    took, used = time.monotonic() - began, processor_seconds() - before
    command = [*DRAGOMAN, "score", str(out), str(recipe / "test.tsv"), "--json"]
    scored = subprocess.run(command, check=True, capture_output=True, text=True)
    right = json.loads(scored.stdout)["exact_match"]
    return {
        "exact_match": right,
        "seconds": round(took, 1),
        "processor": round(used, 1),
        "load": round(load, 1),
        "updates": len(RunLog(out).events("step")),
        "passed": right >= RIGHT and took <= SECONDS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", nargs="+", default=[], help="other settings than those of the recipe")
    add_record(parser)
    args = parser.parse_args()
    recipe = args.out / "dates"
    if not recipe.exists():
        subprocess.run([*DRAGOMAN, "new", "dates", "-o", str(recipe)], check=True)
    facts = {
        "measured": stamp("python -m benchmarks.quality.dates_two_minutes " + " ".join(sys.argv[1:])),
        "seeds": {},
    }
    for seed in args.seeds:
        settings = [f"training.seed={seed}", f"training.threads={args.threads}", *args.set]
        found = measure(recipe, args.out / f"seed{seed}", settings)
        facts["seeds"][seed] = found
        print(json.dumps({"benchmark": "dates_two_minutes", "seed": seed, **found}), flush=True)
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    (args.out / "dates_two_minutes.json").write_text(text + "\n", encoding="utf-8")
    if args.record:
        exact, seconds = (
            [found[name] for found in facts["seeds"].values()] for name in ("exact_match", "seconds")
        )
        note = f"medians of {len(args.seeds)} seeds" if len(args.seeds) > 1 else None
        record("dates.exact", round(median(exact), 1), "% of 1,000", note=note)
        record("dates.seconds", round(median(seconds)), "seconds", note=note)
    return 0 if all(found["passed"] for found in facts["seeds"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
