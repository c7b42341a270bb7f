"""How often PyTorch and CTranslate2 write the same, over a grid of settings.

    python -m benchmarks.quality.parity MODEL FILE [FILE] [--lines 1000]

The model folder has a float32 export in it. Each cell of length penalty × longest length × guard × beam is
run through `dragoman.load` in both runtimes, as a user would; the cells are printed as a table, and those in
which fewer than 99.5 % of the outputs are the same are named.
"""

from __future__ import annotations

import argparse
import json
from itertools import product

from benchmarks.results import add_record, record
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.model import load

LEAST = 0.995


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--lines", type=int, default=1000)
    add_record(parser)
    args = parser.parse_args()
    sources = [pair.src for pair in list(open_pairs(args.files))[: args.lines]]
    torch, light = load(args.model, runtime="torch"), load(args.model, runtime="ct2")
    longest = torch.runtime.search.max_length
    print(f"{args.model}, {len(sources):,} sources")
    print("| beam | length penalty | longest | guard | the same outputs |")
    print("|---|---|---|---|---|")
    cells, differing = [], 0
    for size, alpha, most, guard in product((1, 5), (0.0, 0.6, 1.0), (10, longest), (True, False)):
        search = {"kind": "beam", "size": size, "length_penalty": alpha, "max_length": most, "guard": guard}
        pairs = zip(torch(sources, search), light(sources, search), strict=True)
        alike = sum(ours.text == theirs.text for ours, theirs in pairs)
        same, differing = alike / len(sources), differing + len(sources) - alike
        cells.append({**search, "same": same})
        mark = "" if same >= LEAST else " (below 99.5 %)"
        print(f"| {size} | {alpha:g} | {most} | {'on' if guard else 'off'} | {same:.1%}{mark} |", flush=True)
    if args.record:
        record("parity", differing, f"of {len(cells) * len(sources):,}")
    print(json.dumps({"benchmark": "parity", "sources": len(sources), "cells": cells}))


if __name__ == "__main__":
    main()
