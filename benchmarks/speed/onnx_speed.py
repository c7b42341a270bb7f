"""A model in ONNX Runtime beside the same model in torch: sentences a second, in one run; a line of JSON.

    python -m benchmarks.speed.onnx_speed MODEL test.src test.tgt [--lines N] [--rounds N] [--alone N]

The model is exported, and both runtimes of `dragoman.load` translate the same lines in turn, with as many
threads each: the whole file in batches of 64, and some lines one call at a time, greedily and with a beam of
5. The ratio of each round is taken by itself, so that a machine which is busy for a while is so for both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch

from benchmarks.results import add_record, record
from benchmarks.results_page import stamp
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.export.onnx.export import export_onnx
from dragoman.export.verify import Proof
from dragoman.inference.model import Model, load

SEARCHES: dict[str, dict[str, Any]] = {"greedy": {"kind": "greedy"}, "beam 5": {"kind": "beam", "size": 5}}
BATCHES = (1, 64)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("test", nargs="+", help="two aligned files, or one .tsv or .jsonl")
    parser.add_argument("--lines", type=int, default=512, help="in batches of 64 (default: 512)")
    parser.add_argument("--alone", type=int, default=32, help="lines that are given one by one (default: 32)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    add_record(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    sources = [pair.src for pair in open_pairs(args.test)][: args.lines]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "onnx"
        proof = export_onnx(args.model, folder).proof
        assert isinstance(proof, Proof)
        models = {"torch": load(args.model, runtime="torch"), "onnx": load(folder, runtime="onnx")}
        found = {
            f"{name}, batch {batch}": timed(
                models, sources if batch > 1 else sources[: args.alone], search, batch, args.rounds
            )
            for name, search in SEARCHES.items()
            for batch in BATCHES
        }
    same = {"greedy": proof.greedy.same, "beam 5": proof.beam.same, "of": proof.beam.sentences}
    facts = {"model": args.model, "threads": args.threads, "lines": len(sources), "same": same, **found}
    print(json.dumps({"benchmark": "onnx_speed", "measured": stamp(" ".join(sys.argv)), **facts}))
    for (name, batch), one in zip(product(SEARCHES, BATCHES), found.values(), strict=True):
        if args.record:
            key = f"{name.split()[0]}_{'alone' if batch == 1 else 'list'}"
            record(f"onnx_speed.{key}", one["ratio"], "×")
    return int(min(result["ratio"] for result in found.values()) < 1.0)


def timed(
    models: dict[str, Model], sources: list[str], search: dict[str, Any], batch: int, rounds: int
) -> dict[str, Any]:
    """Sentences a second of each, and the median of what ONNX has over torch, round by round."""
    seconds: dict[str, list[float]] = {name: [] for name in models}
    outputs: dict[str, list[str]] = {}
    for number in range(rounds + 1):
        order = list(models) if number % 2 else list(models)[::-1]
        for name in order:
            start = time.perf_counter()
            outputs[name] = translated(models[name], sources, {**search, "batch_sentences": batch})
            if number:  # the first warms up
                seconds[name].append(time.perf_counter() - start)
    ratios = [a / b for a, b in zip(seconds["torch"], seconds["onnx"], strict=True)]
    return {
        "per_second": {name: round(len(sources) / min(each), 1) for name, each in seconds.items()},
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in sorted(ratios)],
        "same": sum(a == b for a, b in zip(*outputs.values(), strict=True)),
        "sentences": len(sources),
    }


def translated(model: Model, sources: list[str], search: dict[str, Any]) -> list[str]:
    if search["batch_sentences"] == 1:
        return [model(source, search).text for source in sources]
    return [result.text for result in model(sources, search)]


if __name__ == "__main__":
    sys.exit(main())
