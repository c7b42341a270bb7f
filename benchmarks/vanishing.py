"""How far a gradient reaches through a recurrent cell, before and after it has learned to remember.

    python benchmarks/vanishing.py [--out docs/pictures] [--updates 1500]

The task: a symbol, then k symbols of noise, then the question which it was. For each cell and each k: is it
learned? Then ‖∂h_T/∂h_t‖₂ (for the LSTM also ‖∂h_T/∂c_t‖₂, the road it was built for) over the distance
T − t, on noise, at initialisation and after training on the longest k that was learned, with the spectral
norm of the recurrent matrix beside it. Prints a table and one line of JSON, draws vanishing.svg.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from chart import Axis, Line, write
from torch import nn
from torch.nn import functional as F

from dragoman.nn.cells.cell import Cell, CellState
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.gru import GRUCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.fast.recurrent import run

CELLS: dict[str, type[ElmanCell | LSTMCell | GRUCell]] = {
    "Elman": ElmanCell,
    "LSTM": LSTMCell,
    "GRU": GRUCell,
}
SYMBOLS, NOISE, SIZE, ROWS = 8, 8, 64, 64
DELAYS = (5, 10, 20, 40, 80, 160, 320)
LEARNED = 0.99
DISTANCE = 100
SAMPLES = 8
FAINT = 1e-12


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


def learn(kind: str, k: int, updates: int) -> tuple[Rememberer, float, int]:
    """The model, its accuracy on fresh examples, and the updates that it took."""
    model, draw = new(kind), torch.Generator().manual_seed(k)
    adam = torch.optim.Adam(model.parameters(), lr=2e-3)
    for update in range(1, updates + 1):
        x, y = examples(k, ROWS, draw)
        adam.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if update % 50 == 0 and (accuracy := judge(model, k)) >= LEARNED:
            return model, accuracy, update
    return model, judge(model, k), updates


def judge(model: Rememberer, k: int) -> float:
    x, y = examples(k, 512, torch.Generator().manual_seed(10_000 + k))
    with torch.no_grad():
        return float((model(x).argmax(dim=1) == y).float().mean())


def reach(model: Rememberer, distance: int) -> dict[str, list[float]]:
    """The spectral norms of ∂h_T/∂h_t, and of ∂h_T/∂c_t where there is a c, for T − t = 0 … distance."""
    cell, draw = model.cell, torch.Generator().manual_seed(5)
    total: dict[str, list[float]] = {}
    for _ in range(SAMPLES):
        x, _ = examples(distance + 8, 1, draw)
        for name, norms in norms_of(cell, model.embed(x)[0].detach(), distance).items():
            before = total.setdefault(name, [0.0] * len(norms))
            total[name] = [a + b / SAMPLES for a, b in zip(before, norms, strict=True)]
    return total


def norms_of(cell: Cell, x: torch.Tensor, distance: int) -> dict[str, list[float]]:
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
    product = torch.eye(flat.shape[1])[:split]  # ∂h_T/∂(h_T, c_T)
    found: dict[str, list[float]] = {"h": [], "c": []}
    for J in [torch.eye(flat.shape[1]), *jacobians[::-1]][: distance + 1]:
        product = product @ J
        found["h"].append(spectral(product[:, :split]))
        found["c"].append(spectral(product[:, split:]))
    return {name: norms for name, norms in found.items() if name == "h" or flat.shape[1] > split}


def spectral(W: torch.Tensor) -> float:
    return float(torch.linalg.matrix_norm(W, 2)) if W.numel() else 0.0


def recurrent_norm(cell: Cell) -> float:
    """‖W_hh‖₂ of the block that makes new content: an Elman cell's only one, ĉ's or ĥ's of a gated one."""
    block = {1: 0, 4: 2, 3: 2}[len(cell.W_h) // cell.size]
    return spectral(cell.W_h.detach()[block * cell.size : (block + 1) * cell.size])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).resolve().parent.parent / "docs" / "pictures"
    )
    parser.add_argument("--updates", type=int, default=1500)
    args = parser.parse_args()
    lines, facts = [], {}
    for kind in CELLS:
        fresh, best, longest, results = new(kind), new(kind), 0, {}
        for k in DELAYS:
            model, accuracy, updates = learn(kind, k, args.updates)
            results[k] = {"accuracy": round(accuracy, 3), "updates": updates}
            print(f"{kind:<6} k = {k:>3}   accuracy {accuracy:.3f} after {updates:,} updates", flush=True)
            if accuracy < LEARNED:
                break
            best, longest = model, k
        facts[kind] = {
            "learned_up_to": longest,
            "delays": results,
            "W_hh": [round(recurrent_norm(m.cell), 3) for m in (fresh, best)],
        }
        for label, model in ((f"{kind}, fresh", fresh), (f"{kind}, k = {longest}", best)):
            for name, norms in reach(model, DISTANCE).items():
                road = "" if name == "h" else ", from c"
                facts[kind][f"norm at {DISTANCE}, {label}{road}"] = norms[-1]
                first = 0 if name == "h" else 5  # h_T does not depend on c_T but through itself
                points = [(d, norms[d]) for d in range(first, DISTANCE + 1, 5) if norms[d] > FAINT]
                colour = 2 * list(CELLS).index(kind) + (name == "c")
                lines.append(Line(label + road, points, dashed=model is fresh, colour=colour))
        print(f"{kind:<6} learned up to k = {longest}; ‖W_hh‖₂ {facts[kind]['W_hh']}", flush=True)
    x, y = Axis("distance T − t", 0, DISTANCE), Axis("‖∂h_T/∂h_t‖₂", FAINT, 100.0, log=True)
    write(args.out / "vanishing.svg", "How far a gradient reaches", x, y, lines)
    print(json.dumps({"benchmark": "vanishing", "updates": args.updates, **facts}))


if __name__ == "__main__":
    main()
