"""What would one search for torch and NumPy cost? The array API standard has no top-k: it has argsort.

    python -m benchmarks.speed.one_search [--repeats 20]

Times how a beam finds its 2 W best continuations of B sentences over a vocabulary of V entries: with the two
searches as they are, and with the only function of the standard (2024.12) that could replace them, a sort.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch

from dragoman.search.numpy.search import candidates
from dragoman.search.topk import topk_sums

SIZES = ((1, 5, 8000), (64, 5, 8000), (64, 5, 32000))  # B, W, V


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return 1000 * median(taken)


def calls(B: int, W: int, V: int) -> list[Callable[[], object]]:
    draw = torch.Generator().manual_seed(1)
    log_p = torch.randn(B * W, V, generator=draw).log_softmax(dim=1)
    p, k = torch.rand(B, W, generator=draw).log(), 2 * W
    sums, array = p.numpy(), log_p.numpy().reshape(B, W, V)

    def torch_sort() -> object:
        total = (p.view(-1, 1) + log_p).view(B, -1)
        return torch.argsort(total, dim=1, descending=True, stable=True)[:, :k]

    def numpy_sort() -> object:
        total = (sums[:, :, None] + array).reshape(B, -1)
        return np.argsort(-total, axis=1, kind="stable")[:, :k]

    return [lambda: topk_sums(p, log_p, k), torch_sort, lambda: candidates(sums, array, k), numpy_sort]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    print("| B, W, V | torch, as it is | torch, argsort | NumPy, as it is | NumPy, argsort |")
    print("|---|---|---|---|---|")
    for B, W, V in SIZES:
        times = " | ".join(f"{milliseconds(call, args.repeats):.2f} ms" for call in calls(B, W, V))
        print(f"| {B}, {W}, {V:,} | {times} |", flush=True)


if __name__ == "__main__":
    main()
