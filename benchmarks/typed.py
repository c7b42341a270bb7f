"""`dragoman train`, `score` and `run` as a user types them; what is done is not done again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

DRAGOMAN = [sys.executable, "-m", "dragoman"]
Pair = tuple[str, str]


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def pairs(file: Path) -> list[Pair]:
    return [(src, tgt) for src, tgt in (line.split("\t") for line in lines(file))]


def write(file: Path, texts: Iterable[str]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return file


def write_pairs(file: Path, texts: Iterable[Pair]) -> Path:
    return write(file, map("\t".join, texts))


def train(out: Path, settings: Path | None, *words: str | Path, budget: str | None = None) -> None:
    """Train into `out`, unless there is a model; an unfinished run is resumed."""
    if (out / "model").exists():
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    more = [*(["-c", str(settings)] if settings else []), *(["--budget", budget] if budget else [])]
    command = [*DRAGOMAN, "train", *map(str, words), "-o", str(out), "--yes", *more]
    with out.with_name(f"{out.name}.log").open("a", encoding="utf-8") as log:
        subprocess.run(command, check=True, stderr=log)


def score(*words: str | Path) -> dict[str, Any]:
    command = [*DRAGOMAN, "score", *map(str, words), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def run(models: Sequence[Path], source: Path, *words: str) -> list[str]:
    """The output for each line of `source`, of one model or of an ensemble."""
    more = ["--ensemble", *map(str, models[1:])] if models[1:] else []
    command = [*DRAGOMAN, "run", str(models[0]), str(source), *words, *more]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode("utf-8").split("\n")[:-1]


def percent_right(outputs: Sequence[str], wanted: Sequence[str]) -> float:
    return 100.0 * sum(out == want for out, want in zip(outputs, wanted, strict=True)) / len(wanted)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print it, each row as soon as it is there."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)
