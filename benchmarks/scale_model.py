"""How long a run takes on 1 to 1,024 GPUs: a model with constants that were measured or published.

    python benchmarks/scale_model.py [--redraw]             the table and the picture of docs/scale.md
    python benchmarks/scale_model.py --measure [2 4 8]      the sum of gradients against its prediction (root)

An update takes the time of its forward and backward pass, or that of the host where this is longer, and that
of the sum of gradients, which moves 2 (R - 1) / R times the gradient through the link of each of R machines;
the GPUs of a machine share its link. A lost machine costs a restart, and the updates since the checkpoint.

`--measure` sums a gradient with `Partition`, as an update does, on so many emulated machines (network
namespaces whose links are shaped to 1 Gbit/s), prints predicted and measured milliseconds, and ends with 1
where they differ by more than 35 %. The machines share the cores of this one, so it needs to be quiet.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from math import log2
from typing import NamedTuple

import torch

from dragoman.inspection.pictures.line_chart import Axis, Line, Panel, draw
from dragoman.training.distributed.ranks import connect
from dragoman.training.distributed.recursive_halving import Partition
from emulated_nodes import emulated_nodes, why_not
from results_page import DOCS, Facts, keep, kept, rows, stamp

NAME = "scale_model"
PAGE = DOCS / "scale.md"

# Measured on two cores of a Xeon, with Multi30k.
FEED = 4.23e-6  # seconds to read and collate a pair
PLAN = 0.82e-6  # seconds to order a pair and put it into a batch
HOST = 35e-3  # seconds of Python and dispatch for a micro-batch, Transformer with 6 + 6 layers
RESTART = 22.0  # seconds from a lost machine to the next update
# Published.
A100 = 54e12  # FLOP/s: T5 layers reach 47 to 56 T; an H100 about twice that
MEMORY = 1.5e12  # bytes per second of a GPU's memory
BETWEEN_FAILURES = 50_700 * 3600.0  # seconds of one GPU: 419 failures of 16,384 GPUs in 54 days (Llama 3)
# Assumed.
LATENCY = 20e-6  # seconds of a message between machines
PER_NODE = 8  # GPUs of a machine, with NVLink between them, whose time is not counted
LINK = 200e9 / 8  # bytes per second of a machine: 200 Gbit/s
TOKENS_PER_PAIR = 25
TOKENS_PER_GPU = 25_000  # of an update
LARGEST_BATCH = 4_000_000  # target tokens; a larger batch would hardly need fewer updates
CHECKPOINT = 600.0  # seconds between two checkpoints

NUMBERS_OF_GPUS = (1, 8, 64, 256, 1024)
PAIRS = (10**6, 10**7, 10**8, 10**9, 10**10)
SIZES = (10_000_000, 60_000_000, 200_000_000, 1_000_000_000)
MEASURED_PARAMETERS = 7_586_624  # of a gradient that is summed by `--measure`
RATE = 1e9 / 8  # bytes per second of a link of `--measure`
TOLERANCE = 0.35
ROUNDS = 5


class Update(NamedTuple):
    """The seconds of one update."""

    compute: float
    sum: float
    loader: float
    whole: float


class Epoch(NamedTuple):
    """One pass over the data."""

    update: Update
    batch: int  # target tokens
    seconds: float
    failures: float


def seconds_to_sum(parameters: int, machines: int, link: float, gpus: int = 1) -> float:
    """Of an fp32 gradient on so many GPUs: halving and doubling across machines; then it is added up."""
    if gpus * machines == 1:
        return 0.0
    size = 4 * parameters
    volume = 2 * (machines - 1) / machines * size
    return volume / link + 2 * log2(machines) * LATENCY + 3 * size / MEMORY * (gpus > 1)


def update(parameters: int, gpus: int, tokens: int) -> Update:
    """One update of so many target tokens in all. The next batch is read meanwhile."""
    own = tokens / gpus
    compute = max(6 * parameters * own / A100, HOST)
    exchange = seconds_to_sum(parameters, max(gpus // PER_NODE, 1), LINK, min(gpus, PER_NODE))
    loader = (PLAN + FEED) * own / TOKENS_PER_PAIR
    return Update(compute, exchange, loader, max(compute + exchange, loader))


def epoch(pairs: int, parameters: int, gpus: int) -> Epoch:
    batch = min(TOKENS_PER_GPU * gpus, LARGEST_BATCH)
    one = update(parameters, gpus, batch)
    seconds = one.whole * max(pairs * TOKENS_PER_PAIR / batch, 1)
    failures = seconds * gpus / BETWEEN_FAILURES
    return Epoch(one, batch, seconds + failures * (RESTART + CHECKPOINT / 2), failures)


def predicted(machines: int) -> float:
    """Milliseconds of a sum of `--measure`."""
    return 1e3 * seconds_to_sum(MEASURED_PARAMETERS, machines, RATE)


def measure(machines: int) -> float:
    """Milliseconds of a sum on so many emulated machines."""
    with emulated_nodes(machines, "1gbit") as nodes:
        world = {"WORLD_SIZE": str(machines), "MASTER_ADDR": nodes[0].address, "MASTER_PORT": "29500"}
        processes = [
            subprocess.Popen(
                node.command(sys.executable, __file__, "--be-a-rank"),
                env={**node.environment(), **world, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
            )
            for rank, node in enumerate(nodes)
        ]
        said = [process.communicate(timeout=300)[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"A rank of {machines} failed.")
    return float(said[0])


def be_a_rank() -> None:
    """Sum a few gradients; the first rank prints the milliseconds of the fastest sum."""
    torch.set_num_threads(1)
    ranks = connect(timeout=60.0, again="")
    ranks.join(torch.device("cpu"))
    cuts = [MEASURED_PARAMETERS * part // ranks.count for part in range(ranks.count + 1)]
    partition = Partition(ranks, cuts)
    took = []
    for number in range(ROUNDS + 1):
        gradient = torch.ones(MEASURED_PARAMETERS)
        extra = torch.tensor([float(number)])  # of the update, which ranks compare
        began = time.perf_counter()
        partition.reduce_scatter(gradient, extra, f"round {number}")
        partition.all_gather(gradient, f"round {number}")
        took.append(time.perf_counter() - began)
    if ranks.is_first:
        print(1e3 * min(took[1:]))  # the first opens the connections
    ranks.leave()


def duration(seconds: float) -> str:
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.{0 if seconds >= 10 * unit else 1}f} {name}"
    return f"{seconds:.0f} s"


def size(parameters: int) -> str:
    return f"{parameters / 1e6:.0f} M" if parameters < 10**9 else f"{parameters / 1e9:.0f} B"


def power(number: int) -> str:
    return "10" + str(len(str(number)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def table(facts: Facts) -> str:
    head = ["parameters", "GPUs", "tokens per update", "ms per update", "of which the sum"]
    head += [f"{power(pairs)} pairs" for pairs in PAIRS]
    body = []
    for parameters in SIZES:
        for gpus in NUMBERS_OF_GPUS:
            each = [epoch(pairs, parameters, gpus) for pairs in PAIRS]
            one = each[0].update
            cells = [size(parameters), f"{gpus:,}", f"{each[0].batch:,}", f"{1e3 * one.whole:,.0f}"]
            body.append([*cells, f"{1e3 * one.sum:,.1f}", *(duration(e.seconds) for e in each)])
    return "\n\n".join((rows(head, body), check(facts)))


def check(facts: Facts) -> str:
    """The law of the sum against what was measured."""
    what = f"A gradient of {MEASURED_PARAMETERS:,} parameters, summed over links of 1 Gbit/s:"
    each = [
        f"{entry['machines']} machines {entry['ms']:.0f} ms, predicted {predicted(entry['machines']):.0f} ms"
        for entry in facts["sums"]
    ]
    return f"{what} {'; '.join(each)}."


def picture(facts: Facts) -> str:
    x = Axis("GPUs", 1, 1024, log=True, ticks=[4**power for power in range(6)])
    y = Axis("hours of an epoch", 1e-4, 1e3, log=True)
    models = [Line(f"{size(parameters)} parameters", points(10**9, parameters)) for parameters in SIZES]
    corpora = [Line(f"{power(pairs)} pairs", points(pairs, 60_000_000), dashed=True) for pairs in PAIRS]
    panels = [Panel("10⁹ pairs", x, y, models), Panel("60 M parameters", x, y, corpora)]
    return draw("A model of training time, A100, 8 GPUs and 200 Gbit/s per machine", panels)


def points(pairs: int, parameters: int) -> list[tuple[float, float]]:
    """The hours of an epoch on each number of GPUs."""
    return [(gpus, epoch(pairs, parameters, gpus).seconds / 3600) for gpus in NUMBERS_OF_GPUS]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", type=int, nargs="*", metavar="MACHINES")
    parser.add_argument("--redraw", action="store_true")
    parser.add_argument("--be-a-rank", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.be_a_rank:
        be_a_rank()
        return 0
    if args.measure is None:
        facts = kept(NAME)
    elif reason := why_not():
        raise SystemExit(reason)
    else:
        machines = args.measure or [2, 4, 8]
        facts = {"measured": stamp(f"python benchmarks/{NAME}.py --measure")}
        facts["sums"] = [{"machines": count, "ms": round(measure(count), 1)} for count in machines]
    off = [abs(predicted(entry["machines"]) / entry["ms"] - 1) for entry in facts["sums"]]
    if args.redraw or args.measure is not None:
        keep(NAME, facts, picture(facts), table(facts), PAGE)
    print(table(facts))
    print(json.dumps({"benchmark": NAME, **facts, "off": [round(share, 3) for share in off]}))
    return int(max(off) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
