"""Are budgets kept, and used? Runs within a time, alone and beside a busy process, under several schedules.

    python -m benchmarks.quality.budgets OUT [--budgets 3m 12m] [--data multi30k tatoeba dates]
                                     [--presets auto rnn-small] [--busy] [--schedules [NAME …]]
                                     [--at-once]

Each run is `dragoman train --budget`, as a user types it, then `dragoman score` on the test set. The table
has BLEU (of dates: exact match in %), the time of the whole command in % of the budget, and updates.
`--busy` runs beside a process that uses one core. `--schedules` also tries five others by hand, or those
that are named, in the same time: what the default is worth against them. With `--at-once` they share the
machine, so that all meet the same noise. OUT keeps what is done.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog
from dragoman.config.training import seconds

DATA = corpora.DATA
DRAGOMAN = [sys.executable, "-m", "dragoman"]
Measured = dict[str, Any]
SCHEDULES: dict[str, list[str]] = {
    "default": [],
    "inverse_sqrt 1e-3": ["training.schedule=inverse_sqrt", "training.lr=1e-3"],
    "inverse_sqrt 2e-3": ["training.schedule=inverse_sqrt", "training.lr=2e-3"],
    "linear 2e-3": ["training.schedule=linear", "training.lr=2e-3"],
    "cosine 1e-3": ["training.schedule=cosine", "training.lr=1e-3"],
    "cosine 5e-3": ["training.schedule=cosine", "training.lr=5e-3"],
}


def corpus(folder: Path, part: str, *sides: str) -> list[str]:
    return [str(folder / f"{part}.{side}") for side in sides]


def files(data: str, preset: str, home: Path) -> tuple[list[str], list[str]]:
    """What `train` is given, and the test set. Dates are read letter by letter, as their recipe does."""
    match data:
        case "multi30k":
            train, valid, test = (
                corpus(DATA / data, part, "en", "de") for part in ("train", "val", "test2016")
            )
            return [*train, "--valid", *valid], test
        case "tatoeba":
            home = DATA / "tatoeba-deu-eng"
            train, valid, test = (corpus(home, part, "eng", "deu") for part in ("train", "dev", "test2k"))
            return [*train, "--valid", *valid], test
    folder = home / "dates-task"
    if not folder.exists():
        subprocess.run([*DRAGOMAN, "new", "dates", "-o", str(folder)], check=True, stdout=subprocess.DEVNULL)
    if preset == "auto":
        return [str(folder)], [str(folder / "test.tsv")]
    given = [str(folder / "train.tsv"), "--valid", str(folder / "valid.tsv"), "text.kind=char"]
    return given, [str(folder / "test.tsv")]


def spin() -> None:
    while True:
        pass


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    process = multiprocessing.Process(target=spin, daemon=True)
    if busy:
        process.start()
    try:
        yield
    finally:
        if busy:
            process.terminate()


def measure(home: Path, data: str, preset: str, budget: str, busy: bool, schedule: str) -> Measured:
    name = f"{data}-{preset}-{budget}{'-busy' if busy else ''}-{schedule.replace(' ', '-')}"
    kept = home / name / "measured.json"
    if not kept.exists():
        found = train_and_score(home / name, data, preset, budget, busy, schedule)
        kept.write_text(json.dumps(found), encoding="utf-8")
    measured: Measured = json.loads(kept.read_text(encoding="utf-8"))
    return measured


def train_and_score(out: Path, data: str, preset: str, budget: str, busy: bool, schedule: str) -> Measured:
    train, test = files(data, preset, out.parent)
    model = [] if preset == "auto" else [f"model.preset={preset}"]
    command = [*DRAGOMAN, "train", *train, "-o", str(out), "--budget", budget, "--yes", "--force", *model]
    start = time.perf_counter()
    with neighbour(busy):
        subprocess.run([*command, *SCHEDULES[schedule]], check=True, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    scored = subprocess.run([*DRAGOMAN, "score", str(out), *test, "--json"], check=True, capture_output=True)
    return {
        "seconds": wall,
        "updates": next(iter(RunLog(out).events("finished")))["step"],
        "score": json.loads(scored.stdout)["exact_match" if data == "dates" else "bleu"],
    }


def cell(measured: Measured, budget: str) -> str:
    share = measured["seconds"] / seconds(budget)
    return f"{measured['score']:.1f} ({share:.0%}, {measured['updates']:,})"


def keep(data: str, preset: str, budget: str, found: Measured) -> None:
    """Of what the documentation shows: Multi30k within 12 minutes, by the default settings."""
    if (data, preset, budget) == ("multi30k", "auto", "12m"):
        used = f"{found['seconds'] / seconds(budget):.0%} of the budget"
        record("budgets.bleu", round(found["score"], 1), "BLEU")
        record("budgets.seconds", round(found["seconds"]), "seconds", note=used)
        record("budgets.updates", int(found["updates"]), "updates")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--budgets", nargs="+", default=["3m"])
    parser.add_argument("--data", nargs="+", default=["multi30k", "tatoeba", "dates"])
    parser.add_argument("--presets", nargs="+", default=["auto", "rnn-small"])
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--schedules", nargs="*", choices=SCHEDULES, default=["default"])
    parser.add_argument("--at-once", action="store_true")
    add_record(parser)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    schedules = args.schedules or list(SCHEDULES)
    print(f"| data | preset | budget | {' | '.join(schedules)} |")
    print("|---" * (3 + len(schedules)) + "|")
    for data, preset, budget in itertools.product(args.data, args.presets, args.budgets):
        files(data, preset, args.out)  # made before several processes want them
        with ThreadPoolExecutor(len(schedules) if args.at_once else 1) as pool:
            one = partial(measure, args.out, data, preset, budget, args.busy)
            found = list(pool.map(one, schedules))
        cells = [cell(measured, budget) for measured in found]
        if args.record:
            keep(data, preset, budget, found[0])
        print(f"| {data} | {preset} | {budget} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
