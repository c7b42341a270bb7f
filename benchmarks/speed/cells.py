"""How long each cell takes over a sequence, forward and backward, as a ratio to torch's fused LSTM.

    python -m benchmarks.speed.cells [--rounds 5]

The kinds take turns, so that whatever else the machine does slows all of them; of each the fastest counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import torch

from benchmarks.results import add_record, record
from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.coupled import CoupledLSTMCell
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell, ResetFirstGRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.cells.peephole import PeepholeLSTMCell
from dragoman.nn.cells.unroll import unroll
from dragoman.nn.fast.recurrent import run, run_to_ends
from dragoman.shapes import Bool, Float, Tensor

B, T, D, THREADS = 64, 25, 256, 2


def whole(cell: Cell, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    return run(cell, x, cell.zero(B))


def with_ends(cell: Cell, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    keep: Bool[Tensor, "B T"] = torch.arange(T) < torch.randint(T // 2, T, (B, 1))
    h, end = run_to_ends(cell, x, cell.zero(B), keep)
    return h + end.h.unsqueeze(1) + end.c.unsqueeze(1)


def unrolled(cell: Cell, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    return unroll(cell, x, cell.zero(B))


def cases() -> dict[str, Callable[[Float[Tensor, "B T D"]], Float[Tensor, "B T D"]]]:
    lstm, peephole = LSTMCell(D, D), PeepholeLSTMCell(D, D)
    return {
        "LSTM": partial(whole, lstm),
        "Elman": partial(whole, ElmanCell(D, D)),
        "GRU": partial(whole, GRUCell(D, D)),
        "GRU, reset first": partial(whole, ResetFirstGRUCell(D, D)),
        "peephole LSTM": partial(whole, peephole),
        "coupled LSTM": partial(whole, CoupledLSTMCell(D, D)),
        "LSTM with its ends": partial(with_ends, lstm),
        "LSTM unrolled": partial(unrolled, lstm),
        "peephole LSTM unrolled": partial(unrolled, peephole),
    }


FIGURES = {"peephole": "peephole LSTM", "coupled": "coupled LSTM", "reset_first": "GRU, reset first"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    add_record(parser)
    args = parser.parse_args()
    rounds = args.rounds
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    x = torch.randn(B, T, D, requires_grad=True)
    made = cases()
    fastest = dict.fromkeys(made, float("inf"))
    for _ in range(rounds):
        for name, case in made.items():
            began = time.perf_counter()
            case(x).sum().backward()
            fastest[name] = min(fastest[name], time.perf_counter() - began)
    print(f"B {B} · T {T} · D {D} · {THREADS} threads · forward and backward, fastest of {rounds}")
    for name, seconds in fastest.items():
        print(f"{name:28} {seconds * 1e3:7.1f} ms  {seconds / fastest['LSTM']:5.2f} ×")
    for key, name in FIGURES.items() if args.record else ():
        record(f"cells.{key}", round(fastest[name] / fastest["LSTM"], 2), "×")


if __name__ == "__main__":
    main()
