"""Training speed: `dragoman train` over a minimal loop of torch's own modules, and other trainers beside it.

    python -m benchmarks.speed.train_vs_bare [--model recurrent] [--updates 100] [--peers FOLDER]

Non-padding target tokens per second on Multi30k en→de, joint BPE 8000, tied embeddings, label smoothing 0.1,
batches of 4,096 tokens. The Transformer is 256 wide, with 4 heads, 3+3 layers, ffn 1024 and dropout 0.1
everywhere; the recurrent model is `rnn-small` without input feeding: LSTMs of 2 × 256 and 512, attention.
Ours and the bare loop live in processes of their own and train by turns on the same batches, so that both
meet the same noise; the ratio is the median of those of the turns, with its interval. `--peers` runs the
drivers of peers/drivers, whose environments stand in FOLDER, between windows of the bare loop.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.ratios import median_of
from benchmarks.results import add_record, record

NAMES = {"bare": "", "dragoman": "dragoman", "hf": "huggingface", "joeynmt": "joeynmt", "eole": "eole"}
DRIVERS = Path(__file__).resolve().parents[1] / "peers" / "drivers"
DATA = corpora.DATA / "multi30k"
WINDOW = 10  # updates at a turn
WARM_UP = 5
THREADS = os.cpu_count() or 1


MODELS = {
    "transformer": ["model.preset=transformer-small"],
    "recurrent": ["model.preset=rnn-small", "model.decoder.input_feeding=false"],
}


def settings(model: str, precision: str, *more: str) -> Any:
    from dragoman.config.load import load

    base = {
        "data": {
            "train": [{"files": [str(DATA / "train.en"), str(DATA / "train.de")]}],
            "valid": {"files": [str(DATA / "val.en"), str(DATA / "val.de")]},
        }
    }
    return load(
        None,
        [
            *MODELS[model],
            "text.size=8000",
            f"training.precision={precision}",
            "training.updates=100000",
            *more,
        ],
        base,
    )


def ours(model: str, precision: str, folder: Path) -> Iterator[tuple[int, float]]:
    """The engine as `dragoman train` runs it, events written; (target tokens, loss) of each update."""
    import torch

    from dragoman.allocator import keep_freed_memory
    from dragoman.training.build import build_schedule
    from dragoman.training.events import Events
    from dragoman.training.parallel import Ranks
    from dragoman.training.run import Run

    keep_freed_memory()
    torch.set_num_threads(THREADS)
    config = settings(model, precision)
    run = Run(config, folder, [], lambda plan: True)
    data = run.data(Ranks(), Events(None, []))
    stepper = run.stepper(data, Ranks())
    schedule = build_schedule(config.training, 100_000)
    events = Events(folder / f"events-{precision}.jsonl", [])
    for step, batch in enumerate(run.loader(data, Ranks()).batches(0), start=1):
        updated = stepper.update(batch, step, schedule(step)).get()
        events.emit(
            {
                "event": "step",
                "step": step,
                "epoch": batch.epoch,
                "loss": updated.loss,
                "nll": updated.nll,
                "norm": updated.norm,
                "lr": schedule(step),
                "tokens": updated.tokens,
                "src_tokens": updated.src_tokens,
                "seconds": 0.0,
                "applied": updated.applied,
            }
        )
        yield updated.tokens, updated.nll


def bare(model: str, precision: str, folder: Path) -> Iterator[tuple[int, float]]:
    """What one writes by hand: torch's modules, autocast, fused AdamW, cross-entropy."""
    import torch
    from torch.nn import functional as F

    from benchmarks.speed.torch_baseline import MODELS
    from dragoman.training.build import build_schedule
    from dragoman.training.events import Events
    from dragoman.training.parallel import Ranks
    from dragoman.training.run import Run

    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    config = settings(model, precision, "training.micro_batches=1")
    run = Run(config, folder, [], lambda plan: True)
    data = run.data(Ranks(), Events(None, []))
    schedule = build_schedule(config.training, 100_000)
    network = MODELS[model](data.text.src.size)
    optimizer = torch.optim.AdamW(
        network.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
    )
    # The loader's thread is ours; the bare loop gets its batches ready-made.
    batches = [batch for batch, _ in zip(run.loader(data, Ranks()).batches(0), range(240), strict=False)]
    for step, whole in enumerate((b for _ in range(1000) for b in batches), start=1):
        optimizer.param_groups[0]["lr"] = schedule(step)
        (batch,) = whole.micro
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            logits = network(batch.src, ~batch.src_keep, batch.tgt_in)
            targets = batch.tgt_out.masked_fill(~batch.tgt_keep, -100)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        yield int(batch.tgt_keep.sum()), float(loss.detach())


TRAINERS: dict[str, Callable[[str, str, Path], Iterator[tuple[int, float]]]] = {
    "dragoman": ours,
    "bare": bare,
}


def work(name: str, model: str, precision: str, folder: Path) -> None:
    """For each number read from stdin, so many updates; answers tokens, seconds and the last loss."""
    updates = TRAINERS[name](model, precision, folder)
    for line in sys.stdin:
        start, tokens, loss = time.perf_counter(), 0, 0.0
        for _ in range(int(line)):
            count, loss = next(updates)
            tokens += count
        print(
            json.dumps({"tokens": tokens, "seconds": time.perf_counter() - start, "loss": loss}), flush=True
        )


class Worker:
    def __init__(self, name: str, model: str, precision: str, folder: Path) -> None:
        command = [sys.executable, "-m", __spec__.name, "--worker", name, "--model", model]
        command += ["--precision", precision, "--folder", str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tokens = self.seconds = 0.0
        self.rates: list[float] = []  # of each turn

    def turn(self, updates: int) -> dict[str, float]:
        assert self.process.stdin
        assert self.process.stdout
        print(updates, file=self.process.stdin, flush=True)
        answer: dict[str, float] = json.loads(self.process.stdout.readline())
        return answer

    def measure(self, updates: int) -> None:
        answer = self.turn(updates)
        self.tokens += answer["tokens"]
        self.seconds += answer["seconds"]
        self.rates.append(answer["tokens"] / answer["seconds"])

    @property
    def rate(self) -> float:
        return self.tokens / self.seconds

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def compare(
    model: str, precision: str, updates: int, folder: Path, peers: Path | None
) -> list[dict[str, Any]]:
    workers = {name: Worker(name, model, precision, folder) for name in ("bare", "dragoman")}
    for worker in workers.values():
        worker.turn(WARM_UP)
    turns = -(-updates // WINDOW)
    for _ in range(turns):
        for worker in workers.values():
            worker.measure(WINDOW)
    rows = [
        {
            "trainer": name,
            "precision": precision,
            "updates": turns * WINDOW,
            "tokens_per_second": worker.rate,
            "bare": workers["bare"].rate,
            "ratio": median_of(
                [ours / bare for ours, bare in zip(worker.rates, workers["bare"].rates, strict=True)]
            ),
        }
        for name, worker in workers.items()
    ]
    workers["dragoman"].close()
    if peers:
        for peer in ("hf", "joeynmt", "eole"):
            rows += against(peer, precision, peers, workers["bare"])
    workers["bare"].close()
    return rows


def against(peer: str, precision: str, peers: Path, neighbour: Worker) -> list[dict[str, Any]]:
    """A peer's own trainer, with a window of the bare loop before and after it."""
    neighbour.tokens = neighbour.seconds = 0.0
    neighbour.measure(WINDOW)
    command = [
        str(peers / peer / "bin" / "python"),
        f"run_{peer}.py",
        str(DATA),
        str(peers / "joint.model"),
        "--precision",
        precision,
    ]
    done = subprocess.run(command, cwd=DRIVERS, capture_output=True, text=True, check=False)
    neighbour.measure(WINDOW)
    if done.returncode:
        return [{"trainer": peer, "precision": precision, "failed": done.stderr.strip().split("\n")[-1]}]
    row = json.loads(done.stdout)
    return [
        {
            "trainer": f"{peer} {row['version']}",
            "precision": precision,
            "updates": row["updates"],
            "tokens_per_second": row["tokens_per_second"],
            "bare": neighbour.rate,
            "ratio": [row["tokens_per_second"] / neighbour.rate],
        }
    ]


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'trainer':<20}{'precision':<11}{'updates':>8}{'tokens/s':>10}{'bare':>8}{'ratio':>7}")
    for row in rows:
        if "failed" in row:
            print(f"{row['trainer']:<20}{row['precision']:<11}  {row['failed']}")
            continue
        ratio, *ends = row["ratio"]
        interval = f" [{ends[0]:.2f}, {ends[1]:.2f}]" if ends else ""
        print(
            f"{row['trainer']:<20}{row['precision']:<11}{row['updates']:>8}"
            f"{row['tokens_per_second']:>10.0f}{row['bare']:>8.0f}{ratio:>7.2f}{interval}"
        )


def keep(model: str, rows: list[dict[str, Any]], *, is_with_peers: bool) -> None:
    group = "train_vs_bare" if model == "transformer" else "train_vs_bare_recurrent"
    for row in rows:
        name, precision = NAMES[row["trainer"].partition(" ")[0]], row["precision"]
        if name and "failed" not in row:
            key = f"peers.{name}_{precision}" if is_with_peers else f"{group}.{precision}"
            ratio, *ends = (round(number, 2) for number in row["ratio"])
            record(key, ratio, "×", (ends[0], ends[1]) if ends else None)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=MODELS, default="transformer")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument(
        "--peers", type=Path, help="folder with the peers' environments (benchmarks/peers/drivers/setup.sh)"
    )
    parser.add_argument("--precision", choices=("fp32", "bf16"), help="only this one")
    parser.add_argument("--worker", choices=TRAINERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    add_record(parser)
    args = parser.parse_args()
    if args.worker:
        return work(args.worker, args.model, args.precision, args.folder)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for precision in [args.precision] if args.precision else ["fp32", "bf16"]:
            rows += compare(args.model, precision, args.updates, Path(folder), args.peers)
    show(rows)
    print(json.dumps(rows))
    if args.record:
        keep(args.model, rows, is_with_peers=args.peers is not None)
    return None


if __name__ == "__main__":
    main()
