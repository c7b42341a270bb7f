"""A lesson: the models of a recipe trained one after another within a time, and compared by length."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from dragoman.api import load, train
from dragoman.cli.terminal import give, talk
from dragoman.cli.wording import amount, duration, number
from dragoman.data.readers.build import open_pairs
from dragoman.memory import keep_freed_memory

PARTS = 3  # the test set from its shortest to its longest sources, in equal parts


def teach(folder: Path, names: Sequence[str], seconds: float) -> None:
    """Train each, then say how they did."""
    keep_freed_memory()
    share = seconds / len(names)
    talk(f"{len(names)} models, {duration(share)} each; Ctrl-C saves, and the same command resumes.")
    results = []
    for name in names:
        results.append(taught(folder, name, share))
        talk(f"{name:<16} {number(100 * results[-1]['exact'], 1):>6} % exact")
    (folder / "comparison.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    give(table(results))
    talk(f"Also in {folder / 'comparison.json'}. Next: dragoman run {folder / names[-1]} dragoman")


def taught(folder: Path, name: str, seconds: float) -> dict[str, Any]:
    out = folder / name
    if not (out / "model").exists():
        train(folder, out=out, config=folder / f"{name}.toml", budget=f"{seconds:.0f}s")
    pairs = sorted(open_pairs([folder / "test.tsv"]), key=lambda pair: len(pair.src))
    outputs = load(out)([pair.src for pair in pairs])
    right = [result.text == pair.tgt for result, pair in zip(outputs, pairs, strict=True)]
    cuts = [len(right) * part // PARTS for part in range(PARTS + 1)]
    by_length = [
        {
            "from": len(pairs[a].src),
            "to": len(pairs[b - 1].src),
            "exact": sum(right[a:b]) / (b - a),
        }
        for a, b in pairwise(cuts)
    ]
    return {"name": name, "exact": sum(right) / len(right), "by_length": by_length, **recorded(out)}


def recorded(out: Path) -> dict[str, Any]:
    """What the run itself wrote down, also where it was trained at another time."""
    lines = (out / "events.jsonl").read_text(encoding="utf-8").split("\n")
    told = {event["event"]: event for event in map(json.loads, filter(None, lines))}
    start, end = told["start"], told["finished"]
    return {"parameters": start["parameters"], "updates": end["step"], "seconds": end["seconds"]}


def table(results: Sequence[dict[str, Any]]) -> str:
    spans = [f"{part['from']}–{part['to']}" for part in results[0]["by_length"]]
    lines = [f"{'model':<16}{'parameters':>12}{'exact':>9}" + "".join(f"{span:>9}" for span in spans)]
    for result in results:
        shares = [result["exact"], *(part["exact"] for part in result["by_length"])]
        cells = "".join(f"{100 * share:>7.1f} %" for share in shares)
        lines.append(f"{result['name']:<16}{amount(result['parameters']):>12}{cells}")
    return "\n".join(lines) + "\n"
