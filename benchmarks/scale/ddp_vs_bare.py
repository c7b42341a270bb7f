"""An update of several ranks over a bare DDP loop, with the same model and batches, on one machine.

    python -m benchmarks.scale.ddp_vs_bare [--ranks 2 3] [--turns 10] [--updates 5] [--batch-tokens 4096]

A Transformer (256 wide, 3+3 layers) on Multi30k en→de, fp32, one thread per rank. The bare loop is what one
writes by hand: DistributedDataParallel around the same model and objective, the loss divided by the number of
tokens, torch's fused AdamW. Both live in the same processes and train by turns; the ratio is the median of
those of the turns with its interval, bare over ours: 1 is as fast, more is faster than the bare loop.
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
from itertools import islice
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from benchmarks.ratios import median_of
from benchmarks.results import add_record, record
from benchmarks.speed.train_vs_bare import settings
from dragoman.data.loader import GlobalBatch
from dragoman.training.events import Events
from dragoman.training.parallel import Ranks, connect, disconnect
from dragoman.training.run import Run
from dragoman.training.step import Updater

LR = 1e-3
WARM_UP = 2
Update = Callable[[GlobalBatch, int], object]


def work(home: Path, turns: int, updates: int, batch_tokens: int) -> None:
    """On each rank: train by turns, and print the seconds of each way on the first."""
    torch.set_num_threads(1)
    ranks = connect(torch.device("cpu"), timeout=600.0, again="")
    config = settings("transformer", "fp32", f"training.batch_tokens={batch_tokens}")
    run = Run(config, home, [], lambda plan: True)
    data = run.data(ranks, Events(None, []))
    ways = {"ours": ours(run.stepper(data, ranks)), "bare": bare(run.stepper(data, Ranks()), ranks)}
    batches = list(islice(run.loader(data, ranks).stream(0), WARM_UP + turns * updates))
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
        print(json.dumps(taken))
    disconnect()


def ours(stepper: Updater) -> Update:
    return lambda batch, step: stepper.update(batch, step, LR).get()


def bare(stepper: Updater, ranks: Ranks) -> Update:
    optimizer = torch.optim.AdamW(
        stepper.model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
    )
    wrapped = DistributedDataParallel(stepper.forward.train(), gradient_as_bucket_view=True)

    def update(batch: GlobalBatch, step: int) -> object:
        [micro] = batch.micro
        optimizer.zero_grad(set_to_none=True)
        tokens = micro.tgt_keep.sum().float()
        dist.all_reduce(tokens)
        loss = wrapped(micro, step, batch.first_micro).loss * ranks.count / tokens
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
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--updates", type=int, default=5, help="of each way at a turn")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    add_record(parser)
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
            command = [sys.executable, *torchrun, "-m", __spec__.name, "--work", folder, *options]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
        seconds = json.loads(done.stdout)
        ratios = [bare / ours for ours, bare in zip(seconds["ours"], seconds["bare"], strict=True)]
        per_update = {name: statistics.median(each) for name, each in seconds.items()}
        row = {"ranks": count, "seconds_per_update": per_update, "ratio": median_of(ratios)._asdict()}
        print(json.dumps(row), flush=True)
        if args.record:
            found = median_of(ratios)
            interval = (round(found.low, 2), round(found.high, 2))
            what = f"speed of an update of {count} ranks on one machine, relative to a bare DDP loop"
            record(f"ddp_vs_bare.{count}", round(found.median, 2), "×", interval, what=what)


if __name__ == "__main__":
    main()
