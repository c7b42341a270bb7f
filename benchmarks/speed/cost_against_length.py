"""What a layer costs for each token as sentences grow: time and memory, forward and backward.

    python -m benchmarks.speed.cost_against_length [--rounds 5] [--longest 4096] [--redraw]

A batch has the same number of tokens at every length n, so whatever rises with n is the price of length. Five
layers of width d in fp32 without dropout: an LSTM, a gated convolution, self-attention as our layer runs it
(by torch's kernel where sentences are long), the same with its n² scores written out, and self-attention
within a window. Time is what one thread spends on the processor, so that waiting for others is not counted
(they still take its caches: a quiet machine is the better one); the kinds take turns, and of each the fastest
round counts. Memory is told in two ways: what autograd holds between forward and backward (every storage
once, without parameters and input), and by how much the resident memory of the process rises above its start
at most. Exponents are those of the line through the last four lengths. Writes the facts, the picture and the
table of docs/architectures.md; `--redraw` makes the last two of the facts that are there.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
from torch import nn

from benchmarks.results_page import Facts, keep, kept, rows, stamp
from benchmarks.scale.constant_memory import Process
from dragoman.allocator import keep_freed_memory
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import Theme
from dragoman.nn.attention.attend import scaled_dot
from dragoman.nn.attention.multi_head import SelfAttention, combine_biases, merge_heads
from dragoman.nn.attention.window import WindowedSelfAttention
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.conv.block import EncoderBlock
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.fast.recurrent import run
from dragoman.shapes import Float, Tensor

NAME = "cost_against_length"
SHORTEST = 16
TOKENS, D, HEADS, KERNEL, RADIUS = 4096, 256, 4, 3, 16
WIDE = 720  # pixels of the picture: the names of the layers are long
LAST = 4  # lengths that an exponent is fitted to
_M_MMAP_THRESHOLD = -3

Layer = Callable[[Float[Tensor, "N D"], tuple[int, int]], Float[Tensor, "N D"]]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = LSTMCell(D, D)

    def forward(self, x: Float[Tensor, "N D"], shape: tuple[int, int]) -> Float[Tensor, "N D"]:
        return run(self.cell, x.view(*shape, D), self.cell.zero(shape[0])).flatten(0, 1)


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = EncoderBlock(GatedConvolution(D, D, KERNEL, KERNEL // 2, 0.0), nn.Identity())

    def forward(self, x: Float[Tensor, "N D"], shape: tuple[int, int]) -> Float[Tensor, "N D"]:
        return self.block(x, shape, None)


class Attentive(nn.Module):
    def __init__(self, attention: SelfAttention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Float[Tensor, "N D"], shape: tuple[int, int]) -> Float[Tensor, "N D"]:
        return self.attention(x, shape, None)


class WrittenOut(SelfAttention):
    """All n² scores in memory, as wherever attention weights are dropped or looked at."""

    def forward(
        self, x: Float[Tensor, "N D"], shape: tuple[int, int], bias: Float[Tensor, "b t T"] | None
    ) -> Float[Tensor, "N D"]:
        q, kv = self.project(x, shape, 0)
        c: Tensor = self.W_o(
            merge_heads(scaled_dot(q, kv.k, kv.v, combine_biases(bias, None), self.dropout)[0])
        )
        return c


RECURRENT, CONVOLUTIONAL = "recurrent (LSTM)", f"convolutional (k = {KERNEL})"
FULL, WRITTEN_OUT = "self-attention", "self-attention, n² scores written out"
RESTRICTED = f"restricted self-attention (r = {2 * RADIUS + 1})"
MAKE: dict[str, Callable[[], nn.Module]] = {
    RECURRENT: Recurrent,
    CONVOLUTIONAL: Convolutional,
    FULL: lambda: Attentive(SelfAttention(D, HEADS, 0.0)),
    WRITTEN_OUT: lambda: Attentive(WrittenOut(D, HEADS, 0.0)),
    RESTRICTED: lambda: Attentive(WindowedSelfAttention(D, HEADS, 0.0, before=RADIUS, after=RADIUS)),
}
# Vaswani et al. 2017, Table 1: complexity of a layer, sequential operations, longest path; then what the
# first says of a single token's time, as a power of n, and what the n² scores say of its memory.
THEORY: dict[str, tuple[str, str, str, int, int]] = {
    RECURRENT: ("n · d²", "n", "n", 0, 0),
    CONVOLUTIONAL: ("k · n · d²", "1", "n / k, or log_k(n)", 0, 0),
    FULL: ("n² · d", "1", "1", 1, 0),
    WRITTEN_OUT: ("n² · d", "1", "1", 1, 1),
    RESTRICTED: ("r · n · d", "1", "n / r", 0, 0),
}


def layers() -> dict[str, nn.Module]:
    torch.manual_seed(0)
    return {kind: make() for kind, make in MAKE.items()}


def pass_through(layer: nn.Module, n: int) -> None:
    x = torch.randn(TOKENS, D, requires_grad=True)
    layer(x, (TOKENS // n, n)).sum().backward()


def measured_times(lengths: list[int], rounds: int) -> dict[str, list[float]]:
    """Seconds a token at each length: the fastest of so many rounds."""
    torch.set_num_threads(1)
    keep_freed_memory()  # as training does
    made = layers()
    fastest = {kind: [math.inf] * len(lengths) for kind in made}
    for _ in range(rounds + 1):  # the first is a warm-up that can only be slower
        for place, n in enumerate(lengths):
            for kind, layer in made.items():
                began = time.process_time()
                pass_through(layer, n)
                took = (time.process_time() - began) / TOKENS
                fastest[kind][place] = min(fastest[kind][place], took)
    return fastest


def measured_memory(lengths: list[int]) -> tuple[Facts, Facts]:
    """Bytes a token at each length: held for the backward pass, and resident at most."""
    torch.set_num_threads(1)
    ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 16)  # what is freed goes back at once
    made = layers()
    held = {kind: [held_bytes(layer, n) / TOKENS for n in lengths] for kind, layer in made.items()}
    peak = {kind: [peak_bytes(layer, n) / TOKENS for n in lengths] for kind, layer in made.items()}
    return held, peak


def held_bytes(layer: nn.Module, n: int) -> int:
    x = torch.randn(TOKENS, D, requires_grad=True)
    ours = {tensor.untyped_storage().data_ptr() for tensor in (x, *layer.parameters())}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in ours:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        layer(x, (TOKENS // n, n))
    return sum(saved.values())


def peak_bytes(layer: nn.Module, n: int) -> int:
    process = Process(os.getpid())
    pass_through(layer, n)  # kernels are made, and gradients are there
    gc.collect()
    process.forget_peak()
    before = process.peak()
    pass_through(layer, n)
    return process.peak() - before


def exponent(lengths: list[int], values: list[float]) -> float:
    """The slope of log value over log n at the long end."""
    a, b = (torch.tensor(side[-LAST:], dtype=torch.float64).log() for side in (lengths, values))
    a, b = a - a.mean(), b - b.mean()
    return round(float((a * b).sum() / (a * a).sum()), 2)


def measure(longest: int, rounds: int) -> Facts:
    facts: Facts = {"measured": stamp(f"python -m benchmarks.speed.{NAME} --rounds {rounds}")}
    lengths = [2**power for power in range(16) if SHORTEST <= 2**power <= longest]
    with ProcessPoolExecutor(1, get_context("spawn")) as apart:  # an allocator of its own
        held, peak = apart.submit(measured_memory, lengths).result()
    facts |= {"n": lengths, "seconds": measured_times(lengths, rounds), "held": held, "peak": peak}
    for name in ("seconds", "held", "peak"):
        facts[f"exponent of {name}"] = {kind: exponent(lengths, facts[name][kind]) for kind in MAKE}
    return facts


def picture(facts: Facts, theme: Theme) -> str:
    def lines(name: str, unit: float) -> list[Line]:
        over = {kind: [v * unit for v in values] for kind, values in facts[name].items()}
        return [
            Line(kind, list(zip(facts["n"], values, strict=True)), dashed=kind == WRITTEN_OUT)
            for kind, values in over.items()
        ]

    x = Axis("length n of a sentence", facts["n"][0], facts["n"][-1], log=True, ticks=facts["n"][::2])
    times, memory = lines("seconds", 1e6), lines("peak", 1e-3)
    panels = [
        Panel("Time of a token, forward and backward", x, around("µs", times), times),
        Panel("Peak memory of a token", x, around("kB", memory), memory),
    ]
    return draw(f"What length costs: one layer, d = {D}, {TOKENS:,} tokens a batch", panels, theme, WIDE)


def around(label: str, lines: list[Line]) -> Axis:
    """A logarithmic axis with 1, 2 and 5 of every power of ten."""
    values = [v for line in lines for _, v in line.points]
    marks = [m * 10.0**power for power in range(-3, 9) for m in (1, 2, 5)]
    low = max(m for m in marks if m <= min(values))
    high = min(m for m in marks if m >= max(values))
    return Axis(label, low, high, log=True, ticks=[m for m in marks if low <= m <= high])


def table(facts: Facts) -> str:
    ends = f"at n = {facts['n'][0]} and {facts['n'][-1]}"
    head = ["layer", "complexity", "sequential", "longest path"]
    head += ["time ∝ nᵃ", f"µs per token {ends}", "peak memory ∝ nᵃ", f"kB per token {ends}"]
    body = []
    for kind, (*theory, a_time, a_memory) in THEORY.items():
        cells = [kind, *(f"O({order})" for order in theory)]
        for name, expected, unit in (("seconds", a_time, 1e6), ("peak", a_memory, 1e-3)):
            first, *_, last = facts[name][kind]
            cells.append(f"{expected}, measured {facts[f'exponent of {name}'][kind]:.2f}")
            cells.append(f"{first * unit:.1f} and {last * unit:.1f}")
        body.append(cells)
    return rows(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--longest", type=int, default=4096)
    parser.add_argument("--redraw", action="store_true")
    args = parser.parse_args()
    facts = kept(NAME) if args.redraw else measure(args.longest, args.rounds)
    keep(NAME, facts, picture, table(facts))
    print(table(facts))
    print(json.dumps({"benchmark": NAME, **facts}))


if __name__ == "__main__":
    main()
