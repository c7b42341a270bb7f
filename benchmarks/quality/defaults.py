"""Are the defaults right for the data at hand? Parts of Tatoeba and Multi30k, the default and others.

    python -m benchmarks.quality.defaults OUT --pairs 300 3000 --budget 4m [--presets auto rnn-small …]
                                      [--set text.size=3000 "text.size=3000 training.batch_tokens=512" …]
                                      [--at-once]

Each run is `dragoman train --budget`, as a user types it, then `dragoman score`. English to German: up to
3,000 and from 100,000 pairs are drawn from Tatoeba, others are the first of Multi30k. `--set` tries each of
these settings, or groups of settings, with each preset instead of the default. With `--at-once` all runs of
one size share the machine, so that all meet the same noise. OUT keeps what is done.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks import corpora
from benchmarks.run_log import RunLog

DATA = corpora.DATA
DRAGOMAN = [sys.executable, "-m", "dragoman"]
PRESETS = ["auto", "transformer-tiny", "transformer-small", "transformer-base", "rnn-small", "gru-small"]
PRESETS += ["conv-small", "bahdanau2015"]
DEV, TEST = 300, 1000  # sentences
MULTI30K = range(3_001, 100_000)  # pairs
Files = tuple[list[str], list[str], list[str]]  # training, validation and test


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def part(home: Path, name: str, src: list[str], tgt: list[str]) -> list[str]:
    files = [home / f"{name}.en", home / f"{name}.de"]
    for file, side in zip(files, (src, tgt), strict=True):
        file.write_text("".join(line + "\n" for line in side), encoding="utf-8")
    return list(map(str, files))


def write_corpora(home: Path, pairs: int) -> Files:
    home.mkdir(parents=True, exist_ok=True)
    folder, names, suffixes = DATA / "tatoeba-deu-eng", ("train", "dev", "test2k"), (".eng", ".deu")
    if pairs in MULTI30K:
        folder, names, suffixes = DATA / "multi30k", ("train", "val", "test2016"), (".en", ".de")
    sides = [[lines(folder / (name + suffix)) for suffix in suffixes] for name in names]
    order = list(range(len(sides[0][0])))
    random.Random(1).shuffle(order)
    train = [[side[n] for n in order[:pairs]] for side in sides[0]]
    held = [[side[:most] for side in two] for two, most in zip(sides[1:], (DEV, TEST), strict=True)]
    named = zip(("train", "dev", "test"), (train, *held), strict=True)
    found = [part(home, name, *two) for name, two in named]
    return found[0], found[1], found[2]


def measure(home: Path, files: Files, budget: str, run: tuple[str, str]) -> str:
    (train, valid, test), (preset, setting) = files, run
    out = home / "-".join(filter(None, (preset, budget, re.sub("[= ]", "-", setting))))
    if not (out / "model").exists():
        settings = [f"model.preset={preset}", *setting.split()]
        command = [*DRAGOMAN, "train", *train, "--valid", *valid, "-o", str(out), "--budget", budget]
        subprocess.run([*command, "--yes", *settings], check=True, stderr=subprocess.DEVNULL)
    scored = subprocess.run([*DRAGOMAN, "score", str(out), *test, "--json"], check=True, capture_output=True)
    report = json.loads(scored.stdout)
    updates = next(iter(RunLog(out).events("finished")))["step"]
    shown = [f"{report[name]:.1f} ({low:.1f} – {high:.1f})" for name in ("bleu", "chrf")
             for low, high in [report["intervals"][name]]]  # fmt: skip
    return f"{out.name} | {updates:,} | {' | '.join(shown)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=[300, 3_000, 30_000, 150_000])
    parser.add_argument("--budget", default="15m")
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--set", nargs="+", default=[])
    parser.add_argument("--at-once", action="store_true")
    args = parser.parse_args()
    runs = list(itertools.product(args.presets, args.set or [""]))
    print("| pairs | run | updates | BLEU (95 %) | chrF (95 %) |\n|---|---|---|---|---|", flush=True)
    for pairs in args.pairs:
        home = args.out / f"{pairs}"
        with ThreadPoolExecutor(len(runs) if args.at_once else 1) as pool:
            for row in pool.map(partial(measure, home, write_corpora(home, pairs), args.budget), runs):
                print(f"| {pairs:,} | {row} |", flush=True)


if __name__ == "__main__":
    main()
