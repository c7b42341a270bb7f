"""How far a gradient reaches through a recurrent cell, and how long a cell can learn to remember.

    python -m benchmarks.quality.vanishing [--updates 1500] [--redraw]

The task: a symbol, then k symbols of noise, then the question which it was. It is learned when 99 % of fresh
examples are answered. Every cell is asked twice, at each learning rate of a grid, and its best counts: with
fresh networks of two seeds for each k ("from scratch"), and with one network whose k grows by half as soon as
it has learned ("growing"). Then ‖∂h_T/∂h_t‖₂ over the distance T − t, on noise, at initialisation and after
training with growing k; for the LSTM also ‖∂h_T/∂c_t‖₂, the road it was built for; and beside it the spectral
norm of the recurrent matrix. "Elman, plain" is the cell with W_h drawn from ±1/√d as torch draws it; ours
draws an orthogonal one. One thread a cell, two cells at a time. Writes the facts, the picture and the table
of docs/architectures.md; `--redraw` makes the last two of the facts that are there.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.results_page import Facts, keep, kept, rows, stamp
from dragoman.inspection.gradient_flow import recurrent_norm, spectral
from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.inspection.pictures.theme import Theme
from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.fast.recurrent import run

NAME = "vanishing"
SYMBOLS, NOISE, SIZE, ROWS = 8, 8, 64, 64
DELAYS = (5, 10, 20, 40, 80, 160)  # from scratch
FIRST, LONGEST = 5, 160  # growing
RATES, SEEDS = (1e-3, 3e-3, 1e-2), (1, 2)
LEARNED = 0.99
RUNS = len(RATES) * len(SEEDS)
JUDGED_EVERY = 25
DISTANCE = 100
SAMPLES = 8
FAINT = 1e-12


class PlainElmanCell(ElmanCell):
    """W_h from ±1/√d, as torch draws it."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        nn.init.uniform_(self.W_h, -(size**-0.5), size**-0.5)


CELLS: dict[str, type[ElmanCell | LSTMCell | GRUCell]] = {
    "Elman, plain": PlainElmanCell,
    "Elman, orthogonal": ElmanCell,
    "LSTM": LSTMCell,
    "GRU": GRUCell,
}


@dataclass(frozen=True)
class Rememberer:
    """E, a cell and W: which symbol came first?"""

    embed: nn.Embedding
    cell: Cell
    W: nn.Linear

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        h = run(self.cell, self.embed(x), self.cell.zero(len(x)))
        logits: torch.Tensor = self.W(h[:, -1])
        return logits

    def parameters(self) -> Iterator[nn.Parameter]:
        for part in (self.embed, self.cell, self.W):
            yield from part.parameters()


def new(kind: str, seed: int = 1) -> Rememberer:
    torch.manual_seed(seed)
    words = SYMBOLS + NOISE + 1
    return Rememberer(nn.Embedding(words, 16), CELLS[kind](16, SIZE), nn.Linear(SIZE, SYMBOLS))


def examples(k: int, rows: int, draw: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    y = torch.randint(0, SYMBOLS, (rows,), generator=draw)
    noise = torch.randint(SYMBOLS, SYMBOLS + NOISE, (rows, k), generator=draw)
    question = torch.full((rows, 1), SYMBOLS + NOISE)
    return torch.cat((y.unsqueeze(1), noise, question), dim=1), y


@dataclass(frozen=True)
class Learner:
    """A network and its Adam, which go on where they were when k grows."""

    model: Rememberer
    adam: torch.optim.Adam

    def learn(self, k: int, updates: int) -> int | None:
        """The updates until k was learned; None where they were not enough."""
        draw = torch.Generator().manual_seed(k)
        for update in range(1, updates + 1):
            x, y = examples(k, ROWS, draw)
            self.adam.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.adam.step()
            if update % JUDGED_EVERY == 0 and accuracy(self.model, k) >= LEARNED:
                return update
        return None


def learner(kind: str, rate: float, seed: int = 1) -> Learner:
    model = new(kind, seed)
    return Learner(model, torch.optim.Adam(model.parameters(), lr=rate))


def accuracy(model: Rememberer, k: int) -> float:
    x, y = examples(k, 256, torch.Generator().manual_seed(10_000 + k))
    with torch.no_grad():
        return float((model(x).argmax(dim=1) == y).float().mean())


def tell(kind: str, what: str, updates: int | None) -> None:
    learned = f"learned after {updates} updates" if updates else "not learned"
    print(f"{kind}: {what}: {learned}", file=sys.stderr, flush=True)


def from_scratch(kind: str, updates: int) -> list[Facts]:
    """For each k that is learned: by how many of the runs, and the fastest. Ends where none does."""
    found: list[Facts] = []
    for k in DELAYS:
        runs = []
        for rate, seed in product(RATES, SEEDS):
            took = learner(kind, rate, seed).learn(k, updates)
            tell(kind, f"k = {k}, rate {rate:g}, seed {seed}", took)
            runs += [] if took is None else [(took, rate)]
        if not runs:
            break
        found.append({"k": k, "runs": len(runs), "updates": min(runs)[0], "rate": min(runs)[1]})
    return found


def growing(kind: str, updates: int) -> tuple[Facts, Rememberer]:
    """The longest k that one network comes to, over the rates, and that network as it was then."""
    best: Facts = {"k": 0, "updates": 0, "rate": 0.0, "W_hh": []}
    model = new(kind)
    for rate in RATES:
        pupil, spent, k = learner(kind, rate), 0, FIRST
        norms: list[tuple[int, float]] = []
        while best["k"] < LONGEST and (took := pupil.learn(k, updates - spent)) is not None:
            spent += took
            tell(kind, f"growing to k = {k}, rate {rate:g}", spent)
            norms = [*norms, (k, recurrent_norm(pupil.model.cell))]
            if k > best["k"]:
                best = {"k": k, "updates": spent, "rate": rate, "W_hh": norms}
                model = deepcopy(pupil.model)
            k = min(k + k // 2, LONGEST)
    return best, model


def reach(model: Rememberer) -> dict[str, list[float]]:
    """The spectral norms of ∂h_T/∂h_t, and of ∂h_T/∂c_t where there is a c, for T − t = 0 … DISTANCE: the
    geometric mean over some stretches of noise.
    """
    draw = torch.Generator().manual_seed(5)
    logs: dict[str, torch.Tensor] = {}
    for _ in range(SAMPLES):
        x, _ = examples(DISTANCE + 8, 1, draw)
        for name, norms in norms_of(model.cell, model.embed(x)[0].detach()).items():
            logs[name] = logs.get(name, torch.zeros(len(norms))) + torch.tensor(norms).clamp(1e-30).log()
    return {name: (total / SAMPLES).exp().tolist() for name, total in logs.items()}


def norms_of(cell: Cell, x: torch.Tensor) -> dict[str, list[float]]:
    state = cell.zero(1)
    split = state.h.shape[1]

    def step(flat: torch.Tensor, x_t: torch.Tensor) -> torch.Tensor:
        new = cell(x_t, CellState(flat[:, :split], flat[:, split:]))
        return torch.cat((new.h, new.c), dim=1)

    flat = torch.cat((state.h, state.c), dim=1).detach()
    jacobians = []
    for x_t in x.split(1):
        jacobians.append(torch.func.jacrev(step)(flat, x_t)[0, :, 0].detach())
        flat = step(flat, x_t).detach()
    through = torch.eye(flat.shape[1])[:split]  # ∂h_T/∂(h_T, c_T)
    found: dict[str, list[float]] = {"h": [], "c": []}
    for J in [torch.eye(flat.shape[1]), *jacobians[::-1]][: DISTANCE + 1]:
        through = through @ J
        found["h"].append(spectral(through[:, :split]))
        found["c"].append(spectral(through[:, split:]))
    return {name: norms for name, norms in found.items() if name == "h" or flat.shape[1] > split}


def measure_cell(kind: str, updates: int) -> Facts:
    torch.set_num_threads(1)
    began = time.perf_counter()
    scratch = from_scratch(kind, updates)
    grown, model = growing(kind, updates)
    facts: Facts = {"from scratch": scratch, "growing": grown}
    for when, judged in (("fresh", new(kind)), ("trained", model)):
        facts[when] = {"W_hh": recurrent_norm(judged.cell), "norms": reach(judged)}
    return facts | {"seconds": round(time.perf_counter() - began)}


def measure(updates: int) -> Facts:
    facts: Facts = {
        "measured": stamp(f"python -m benchmarks.quality.{NAME} --updates {updates}"),
        "updates": updates,
    }
    slowest_first = list(CELLS)[::-1]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        found = list(pool.map(measure_cell, slowest_first, [updates] * len(CELLS)))
    facts["cells"] = dict(zip(CELLS, reversed(found), strict=True))
    return facts


def picture(facts: Facts, theme: Theme) -> str:
    def lines(when: str) -> list[Line]:
        return [
            Line(
                kind if name == "h" else f"{kind}, from its c",
                [(d, v) for d, v in enumerate(norms) if v > FAINT and (name == "h" or d)],
                dashed=name == "c",
            )
            for kind, found in facts["cells"].items()
            for name, norms in found[when]["norms"].items()
        ]

    x, y = Axis("distance from t to T", 0, DISTANCE), Axis("‖∂h(T) / ∂h(t)‖₂", FAINT, 100.0, log=True)
    learned = [
        Line(kind, [(step["k"], step["updates"]) for step in found["from scratch"]])
        for kind, found in facts["cells"].items()
    ]
    grown = [Line(kind, found["growing"]["W_hh"]) for kind, found in facts["cells"].items()]
    delays = Axis("delay k", DELAYS[0], DELAYS[-1], log=True, ticks=DELAYS)
    needed = Axis("updates", JUDGED_EVERY, facts["updates"], log=True, ticks=(25, 50, 100, 200, 500, 1000))
    panels = [
        Panel("Gradient, at initialisation", x, y, lines("fresh")),
        Panel("Gradient, after training with growing delay", x, y, lines("trained")),
        Panel(
            "Updates until a delay is learned from scratch; without a point, it never was",
            delays,
            needed,
            learned,
        ),
        Panel("Spectral norm of the recurrent matrix W as the delay grows", delays, around(grown), grown),
    ]
    return draw("How far a gradient reaches, and what can be learned with it", panels, theme)


def around(lines: list[Line]) -> Axis:
    highest = max((norm for line in lines for _, norm in line.points), default=1.0)
    return Axis("‖W‖₂", 0, math.ceil(highest))


def table(facts: Facts) -> str:
    head = ["cell", "‖W_hh‖₂", f"‖∂h_T/∂h_t‖₂ at distance {DISTANCE}", "from scratch", "growing delay"]
    body = []
    for kind, found in facts["cells"].items():
        fresh, trained, grown = found["fresh"], found["trained"], found["growing"]
        ends = [strength(when["norms"]["h"][-1]) for when in (fresh, trained)]
        scratch = found["from scratch"]
        norms = f"{fresh['W_hh']:.2f} → {trained['W_hh']:.2f}"
        learned = f"{limit(scratch[-1])}, {scratch[-1]['runs']} of {RUNS} runs" if scratch else "not at all"
        body.append([kind, norms, " → ".join(ends), learned, limit(grown)])
    return rows(head, body)


def limit(best: Facts) -> str:
    return f"k = {best['k']} after {best['updates']:,} updates (rate {best['rate']:g})"


def strength(norm: float) -> str:
    if norm < 1e-20:
        return "0"
    power = math.floor(math.log10(norm))
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{norm:.2f}" if power >= -2 else f"{norm / 10.0**power:.0f}·10{digits}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--redraw", action="store_true")
    args = parser.parse_args()
    facts = kept(NAME) if args.redraw else measure(args.updates)
    keep(NAME, facts, picture, table(facts))
    print(table(facts))
    print(json.dumps({"benchmark": NAME, **facts}))


if __name__ == "__main__":
    main()
