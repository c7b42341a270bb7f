"""Greedy search, the beam of CTranslate2 and the careful beam of a model, side by side.

    python -m benchmarks.quality.searches MODEL FILE [FILE] [--lines 1000] [--lowercase] [--runtime torch]

Decodes the same sources by the three searches, with the model's own settings otherwise, and prints exact
match, BLEU with its 95 % interval, chrF, seconds, and how many outputs of each beam have a lower score, as
the search itself counts it, than the greedy output. The last line says which search the model has chosen.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.model import Model, load
from dragoman.metrics.report import score

SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"kind": "greedy", "n_best": 1},
    "beam": {"kind": "beam", "size": 5, "n_best": 1, "stop": "n_best"},
    "careful beam": {"kind": "beam", "size": 5, "n_best": 1, "stop": "heuristic"},
}
SAME = 1e-5  # scores that differ by less are sums in another order


def measure(
    model: Model, sources: list[str], references: list[str], search: dict[str, Any], *, lowercase: bool
) -> tuple[dict[str, Any], list[float]]:
    start = time.perf_counter()
    results = model(sources, model.runtime.search.model_copy(update=search))
    seconds = time.perf_counter() - start
    report = score([result.text for result in results], references, lowercase=lowercase)
    facts: dict[str, Any] = {"seconds": round(seconds, 2)}
    for name in ("exact_match", "bleu", "chrf"):
        found = report.scores[name]
        facts[name] = [found.value, *found.interval]
    return facts, [result.score for result in results]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--runtime", choices=["torch", "ct2", "onnx"], default="torch")
    args = parser.parse_args()
    pairs = list(open_pairs(args.files))[: args.lines]
    sources, references = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    model = load(args.model, runtime=args.runtime)
    print(f"{args.model}, {len(pairs):,} sources, {args.runtime}")
    print("| search | exact match | BLEU | 95 % interval | chrF | below greedy | seconds |")
    print("|---|---|---|---|---|---|---|")
    rows, floor = {}, list[float]()
    for name, search in SEARCHES.items():
        row, scores = measure(model, sources, references, search, lowercase=args.lowercase)
        floor = floor or scores
        below = sum(mine < least - SAME for mine, least in zip(scores, floor, strict=True))
        bleu, low, high = row["bleu"]
        figures = f"{row['exact_match'][0]:.1f} % | {bleu:.2f} | {low:.2f}–{high:.2f} | {row['chrf'][0]:.2f}"
        print(f"| {name} | {figures} | {below} of {len(pairs):,} | {row['seconds']} |", flush=True)
        rows[name] = {**row, "below": below}
    chosen = "careful beam" if model.runtime.search.stop == "heuristic" else model.runtime.search.kind
    print(json.dumps({"benchmark": "searches", "runtime": args.runtime, "chosen": chosen, **rows}))


if __name__ == "__main__":
    main()
