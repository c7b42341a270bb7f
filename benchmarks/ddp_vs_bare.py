"""`training.parallel=ddp` over a bare DDP loop, with the same model and batches, on ranks of one machine.

    python benchmarks/ddp_vs_bare.py [--ranks 2 3] [--turns 4] [--updates 5] [--batch-tokens 4096]

A Transformer (256 wide, 3+3 layers) on Multi30k en→de, fp32, one thread per rank. The bare loop is what one
writes by hand: DistributedDataParallel around the same model and objective, the loss divided by the number of
tokens, torch's fused AdamW. Both live in the same processes and train by turns; the ratio is that of the
medians of the turns, bare over ours: 1 is as fast, more is faster than the bare loop. `exact` is measured
beside them where the number of ranks is a power of two.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dragoman.data.loader import GlobalBatch
from dragoman.training.ddp import ObjectiveOfModel
from dragoman.training.distributed.ranks import Ranks, connect
from dragoman.training.events import Events
from dragoman.training.run import Run
from train_vs_bare import settings

LR = 1e-3
WARM_UP = 2
Update = Callable[[GlobalBatch, int], object]


def work(home: Path, turns: int, updates: int, batch_tokens: int) -> None:
    """On each rank: train by turns, and print the seconds of each way on the first."""
    torch.set_num_threads(1)
    ranks = connect(timeout=600.0, again="", exact=False)
    more = (f"training.batch_tokens={batch_tokens}", "training.parallel=ddp")
    count = f"training.micro_batches={ranks.count}"
    ddp = Run(settings("transformer", "fp32", *more, count), home, [], lambda plan: True)
    ways = {"ddp": ours(ddp, ranks), "bare": bare(ddp, ranks)}
    if not ranks.count & (ranks.count - 1):
        exact = ddp.config.training.model_copy(update={"parallel": "exact"})
        config = ddp.config.model_copy(update={"training": exact})
        ways["exact"] = ours(replace(ddp, config=config), ranks)
    loader = ddp.loader(ddp.data(ranks, Events(None, [])), ranks)
    batches = list(islice(loader.stream(0), WARM_UP + turns * updates))
    ranks.join(torch.device("cpu"))
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):  # the first is the warm-up
        low = WARM_UP + (turn - 1) * updates
        some = batches[low : low + updates] if turn else batches[:WARM_UP]
        for name, update in ways.items() if turn % 2 else reversed(ways.items()):
            dist.barrier()
            start = time.perf_counter()
            for step, batch in enumerate(some, start=1):
                update(batch, step)
            dist.barrier()
            taken[name] += [(time.perf_counter() - start) / len(some)] * bool(turn)
    if ranks.is_first:
        per_update = {name: statistics.median(seconds) for name, seconds in taken.items()}
        print(
            json.dumps({"ranks": ranks.count, "updates": turns * updates, "seconds_per_update": per_update})
        )
    ranks.leave()


def ours(run: Run, ranks: Ranks) -> Update:
    stepper = run.stepper(run.data(ranks, Events(None, [])), ranks)
    return lambda batch, step: stepper.update(batch, step, LR).get()


def bare(run: Run, ranks: Ranks) -> Update:
    stepper = run.stepper(run.data(ranks, Events(None, [])), Ranks())
    optimizer = torch.optim.AdamW(
        stepper.model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
    )
    wrapped: list[DistributedDataParallel] = []

    def update(batch: GlobalBatch, step: int) -> object:
        if not wrapped:  # only now are the ranks connected
            module = ObjectiveOfModel(stepper.model.train(), stepper.objective, seed=1)
            wrapped.append(DistributedDataParallel(module, gradient_as_bucket_view=True))
        [micro] = batch.micro
        optimizer.zero_grad(set_to_none=True)
        tokens = micro.tgt_keep.sum().float()
        dist.all_reduce(tokens)
        loss = wrapped[0](micro, step, batch.first_micro).loss * ranks.count / tokens
        loss.backward()
        torch.nn.utils.clip_grad_norm_(stepper.model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    return update


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--updates", type=int, default=5, help="of each way at a turn")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.work, args.turns, args.updates, args.batch_tokens)
        return
    options = [
        f"--{name}={getattr(args, name.replace('-', '_'))}" for name in ("turns", "updates", "batch-tokens")
    ]
    for count in args.ranks:
        with tempfile.TemporaryDirectory() as folder:
            torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
            command = [sys.executable, *torchrun, __file__, "--work", folder, *options]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
        row = json.loads(done.stdout)
        seconds = row["seconds_per_update"]
        row["ratio"] = {name: round(seconds["bare"] / taken, 3) for name, taken in seconds.items()}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
