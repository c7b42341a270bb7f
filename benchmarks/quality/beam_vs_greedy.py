"""Is a beam ever worse than greedy search?

    python -m benchmarks.quality.beam_vs_greedy MODEL FILE [FILE] [--lines 1000] [--lowercase]
        [--runtime torch]

Decodes the same sources greedily and with beams of 2, 3, 5 and 10, by the model's own settings otherwise, and
prints exact match and BLEU with their 95 % intervals, and how many outputs of each beam have a lower score,
as the search itself counts it, than the greedy output.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.model import Model, load
from dragoman.metrics.report import score

SIZES = (2, 3, 5, 10)
SAME = 1e-5  # scores that differ by less are sums in another order


def measure(
    model: Model, sources: list[str], references: list[str], size: int, *, lowercase: bool
) -> tuple[dict[str, Any], list[float]]:
    own = model.runtime.search
    kind = {"kind": "greedy", "n_best": 1} if size == 1 else {"kind": "beam", "size": size, "n_best": 1}
    start = time.perf_counter()
    results = model(sources, own.model_copy(update=kind))
    seconds = time.perf_counter() - start
    report = score([result.text for result in results], references, lowercase=lowercase)
    facts: dict[str, Any] = {"size": size, "seconds": round(seconds, 2)}
    for name in ("exact_match", "bleu"):
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
    greedy, floor = measure(model, sources, references, 1, lowercase=args.lowercase)
    print(f"{args.model}, {len(pairs):,} sources, {args.runtime}")
    print("| beam | exact match | 95 % interval | BLEU | 95 % interval | below greedy | seconds |")
    print("|---|---|---|---|---|---|---|")
    rows = [{**greedy, "below": 0}]
    for size in SIZES:
        found, scores = measure(model, sources, references, size, lowercase=args.lowercase)
        below = sum(mine < least - SAME for mine, least in zip(scores, floor, strict=True))
        rows.append({**found, "below": below})
    for row in rows:
        exact, low, high = row["exact_match"]
        bleu, least, most = row["bleu"]
        name = "greedy" if row["size"] == 1 else row["size"]
        figures = f"{exact:.1f} % | {low:.1f}–{high:.1f} | {bleu:.2f} | {least:.2f}–{most:.2f}"
        print(f"| {name} | {figures} | {row['below']} of {len(pairs):,} | {row['seconds']} |")
    print(json.dumps({"benchmark": "beam_vs_greedy", "runtime": args.runtime, "rows": rows}))


if __name__ == "__main__":
    main()
