"""Characters of Tiny Shakespeare: nats per character of the last tenth, after 3 and after 60 minutes.

    python -m benchmarks.quality.tinyshakespeare OUT [lstm-3m transformer-3m lstm-60m transformer-60m]
    python -m benchmarks.quality.tinyshakespeare OUT lstm-3m --updates 3000  on a machine that others use, too

Trains each settings file of tinyshakespeare/ on the first nine tenths of the text, into a folder of
its own below OUT (an unfinished run is gone on with, a finished one is only scored). All characters of the
last tenth are scored, each with three quarters of a window before it. Published, on a CPU: 1.88 after 3
minutes by a Transformer of 4 layers, 4 heads and 128 features (nanoGPT's README).

A budget in minutes says little if other processes take the cores. With --updates the length is fixed, and the
processor time of the training tells whether it would have fitted: 3 minutes of 2 cores are 6 core minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "tinyshakespeare"
NAMES = ("lstm-3m", "transformer-3m", "lstm-60m", "transformer-60m")
TARGET = {"3m": 1.88, "60m": 1.55}  # nats per character


def split(out: Path) -> tuple[Path, Path]:
    """Write the first nine tenths and the last tenth, by characters."""
    text = (DATA / "input.txt").read_text(encoding="utf-8")
    cut = len(text) * 9 // 10
    files = out / "train.txt", out / "valid.txt"
    out.mkdir(parents=True, exist_ok=True)
    for file, part in zip(files, (text[:cut], text[cut:]), strict=True):
        if not file.exists():
            file.write_text(part, encoding="utf-8")
    return files


def measure(name: str, out: Path, updates: int | None, overrides: list[str]) -> dict[str, Any]:
    train, valid = split(out)
    folder, settings = out / name, out / f"{name}.toml"
    text = (HERE / "tinyshakespeare" / settings.name).read_text(encoding="utf-8")
    if updates:
        text = re.sub(r"budget = .*", f"updates = {updates}", text)
    settings.write_text(text, encoding="utf-8")
    cpu, is_new = cpu_seconds(), not (folder / "model").exists()
    if is_new:
        files = [str(train), "--valid", str(valid), "-c", str(settings), "-o", str(folder)]
        dragoman("train", *files, "--yes", *overrides)
    cpu = cpu_seconds() - cpu
    stride = tomllib.loads(text)["data"]["block_size"] // 4
    scores = json.loads(dragoman("score", str(folder), str(valid), "--stride", str(stride), "--json"))
    log = RunLog(folder)
    return {
        "name": name,
        "parameters": log.parameters,
        "minutes": log.minutes,
        "core_minutes": cpu / 60 if is_new else None,
        "nats_per_character": scores["nats_per_character"],
        "bits_per_character": scores["bits_per_character"],
        "target": TARGET[name.rpartition("-")[2]],
    }


def dragoman(*arguments: str) -> str:
    command = [sys.executable, "-m", "dragoman", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def cpu_seconds() -> float:
    """Return the processor time of finished children: what a shared machine left to the training."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--updates", type=int, help="of every training, instead of its budget")
    parser.add_argument("--set", action="append", default=[], metavar="SETTING", help="for every training")
    add_record(parser)
    args = parser.parse_args()
    found = [measure(name, args.out, args.updates, args.set) for name in args.names]
    print(json.dumps({"benchmark": "tinyshakespeare", "found": found}))
    for each in found if args.record else ():
        model, _, budget = each["name"].partition("-")
        if budget == "3m":
            record(f"tinyshakespeare.{model}", round(each["nats_per_character"], 2), "nats")
    print("| model | minutes | core minutes | parameters | nats/char | bits/char | wanted |")
    print("|---|---|---|---|---|---|---|")
    for each in found:
        core = "" if each["core_minutes"] is None else f"{each['core_minutes']:.1f}"
        print(
            f"| {each['name']} | {each['minutes']:.1f} | {core} | {each['parameters'] / 1e6:.2f} M "
            f"| {each['nats_per_character']:.3f} | {each['bits_per_character']:.3f} | ≤ {each['target']} |"
        )


if __name__ == "__main__":
    main()
