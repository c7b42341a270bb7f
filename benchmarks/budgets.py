"""Are budgets kept, and used? Runs within a time, alone and beside a busy process, under several schedules.

    python benchmarks/budgets.py OUT [--budgets 3m 12m] [--data multi30k tatoeba dates]
                                     [--presets auto rnn-small] [--busy] [--schedules]

Each run is `dragoman train --budget`, as a user types it, then `dragoman score` on the test set. The table
has the time of the whole command, its share of the budget, updates, and BLEU (of dates: exact match in %).
`--busy` runs beside a process that uses one core. `--schedules` also tries five others by hand, in the same
time: what the default is worth against them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.config.training import seconds
from run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", HERE.parent.parent / "shared" / "data"))
DRAGOMAN = [sys.executable, "-m", "dragoman"]
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


def measure(home: Path, data: str, preset: str, budget: str, busy: bool, schedule: str) -> dict[str, Any]:
    train, test = files(data, preset, home)
    name = f"{data}-{preset}-{budget}{'-busy' if busy else ''}-{schedule.replace(' ', '-')}"
    out = home / name
    if not (out / "model").exists():
        model = [] if preset == "auto" else [f"model.preset={preset}"]
        command = [*DRAGOMAN, "train", *train, "-o", str(out), "--budget", budget, "--yes", *model]
        start = time.perf_counter()
        with neighbour(busy):
            subprocess.run([*command, *SCHEDULES[schedule]], check=True, stderr=subprocess.DEVNULL)
        (out / "wall.json").write_text(json.dumps(time.perf_counter() - start), encoding="utf-8")
    wall = float(json.loads((out / "wall.json").read_text(encoding="utf-8")))
    scored = subprocess.run([*DRAGOMAN, "score", str(out), *test, "--json"], check=True, capture_output=True)
    report = json.loads(scored.stdout)
    score = report["exact_match" if data == "dates" else "bleu"]
    updates = next(iter(RunLog(out).events("finished")))["step"]
    return {
        "data": data,
        "preset": preset,
        "budget": budget,
        "busy": busy,
        "schedule": schedule,
        "seconds": wall,
        "share": wall / seconds(budget),
        "updates": updates,
        "score": score,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--budgets", nargs="+", default=["3m"])
    parser.add_argument("--data", nargs="+", default=["multi30k", "tatoeba", "dates"])
    parser.add_argument("--presets", nargs="+", default=["auto", "rnn-small"])
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--schedules", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    print("| data | preset | budget | beside | schedule | time | of the budget | updates | score |")
    print("|---|---|---|---|---|---|---|---|---|")
    for data in args.data:
        for preset in args.presets:
            for budget in args.budgets:
                for schedule in SCHEDULES if args.schedules else ("default",):
                    row = measure(args.out, data, preset, budget, args.busy, schedule)
                    beside = "a busy core" if args.busy else "nothing"
                    shown = [
                        data,
                        preset,
                        budget,
                        beside,
                        schedule,
                        f"{row['seconds']:.0f} s",
                        f"{row['share']:.0%}",
                    ]
                    print(
                        "| " + " | ".join([*shown, f"{row['updates']:,}", f"{row['score']:.2f}"]) + " |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
