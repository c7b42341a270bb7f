"""Same bits: a run killed again and again, a run on two ranks, and one that moves, against it undisturbed.

    python benchmarks/same_bits.py [--updates 200] [--kills 20] [--only kills|ranks|moves|ddp]

A small model with dropout learns generated dates. (1) `dragoman train` is killed with SIGKILL at random
moments, also inside saves, and started again each time until it is done. (2) It runs on 1 rank and on 2, 4
and 8 (torchrun, gloo), as a Transformer and as a recurrent network. (3) It begins on 1 rank, is stopped and
resumed on 2, on 1 again and on 4. Every loss in events.jsonl and the SHA-256 of the weights must be the same.
(4) It runs with `training.parallel=ddp` on 2 and 3 ranks, and changes from exact to ddp and back halfway: the
losses must differ by no more than rounding. How much rounding changes a loss in so many updates is measured
by the same run with two threads, whose sums are rounded in another order.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

LEAST_ROUNDING = 1e-6  # the relative difference of a loss that is always allowed

PRESETS = {
    "transformer": ["model.preset=transformer-tiny", "model.encoder.layers=2", "model.decoder.layers=2"],
    "rnn": [
        "model.preset=rnn-small",
        "model.encoder.width=64",
        "model.decoder.width=64",
        "model.encoder.embedding=64",
        "model.decoder.embedding=64",
    ],
}


def settings(architecture: str, updates: int, every: int) -> list[str]:
    return [
        *PRESETS[architecture],
        "text.kind=char",
        f"training.updates={updates}",
        "training.batch_tokens=1024",
        "training.micro_batches=8",
        "training.threads=1",
        f"training.checkpoint_every={every}",
        f"training.validate_every={updates}",
        "training.valid_decode=20",
        "training.average=1",
    ]


def command(data: Path, out: Path, overrides: list[str], ranks: int = 1) -> list[str]:
    start = [sys.executable, "-m"]
    if ranks > 1:
        start += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m"]
    files = [str(data / "train.tsv"), "--valid", str(data / "valid.tsv")]
    return [*start, "dragoman", "train", *files, "-o", str(out), "--yes", *overrides]


def run(arguments: list[str]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")


def record(out: Path) -> dict[str, Any]:
    """Every loss, and the hash of all weights."""
    events = [
        json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    steps = [(e["step"], e["loss"], e["nll"], e["norm"]) for e in events if e["event"] == "step"]
    weights = hashlib.sha256()
    for name, tensor in sorted(load_file(out / "model" / "weights.safetensors").items()):
        weights.update(name.encode() + tensor.tobytes())
    return {"steps": steps, "weights": weights.hexdigest()}


def kill_until_done(arguments: list[str], out: Path, kills: int, updates: int) -> dict[str, int]:
    """Start the run, kill it, start it again … until it has been killed so often, then let it finish."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    rng = random.Random(1)
    struck = {"start-up": 0, "update": 0, "save": 0}
    while True:
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        )
        moment = rng.choice(["start-up", "update", "update", "save", "save"])
        if sum(struck.values()) < kills:
            await_moment(moment, process, out, rng, most=2 * updates // kills - 2)
            process.send_signal(signal.SIGKILL)
        _, stderr = process.communicate()
        if process.returncode == 0:
            return struck
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(stderr.decode())
        struck[moment] += 1


def await_moment(
    moment: str, process: subprocess.Popen[bytes], out: Path, rng: random.Random, *, most: int
) -> None:
    """Until a random time of the start, a random update of this life, or the middle of a save in it."""
    if moment == "start-up":
        time.sleep(rng.uniform(0.0, 3.0))
        return
    goal = last_step(out) + rng.randint(1, most)
    while process.poll() is None and last_step(out) < goal:
        time.sleep(0.002)
    while moment == "save" and process.poll() is None and not any((out / "checkpoints").glob(".*.tmp")):
        time.sleep(0.0002)
    time.sleep(rng.uniform(0.0, 0.01))


def move(starts: list[list[str]], out: Path, updates: int) -> None:
    """Run each command for an equal share of the updates; the last one finishes."""
    for number, arguments in enumerate(starts, start=1):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, env=environment)
        if number < len(starts):
            while process.poll() is None and last_step(out) < number * updates // len(starts):
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate()
        if process.returncode and number == len(starts):
            raise SystemExit(stderr.decode())


def furthest(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """The largest relative difference of two losses of the same update."""
    pairs = zip(found["steps"], expected["steps"], strict=True)
    return float(max(abs(a[1] - b[1]) / b[1] for a, b in pairs))


def by_ddp(
    data: Path, home: Path, updates: int, whole: dict[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for architecture, expected in whole.items():
        exact = settings(architecture, updates, every=5)
        ddp = [*exact, "training.parallel=ddp"]
        run(command(data, home / f"{architecture}-rounded", [*exact, "training.threads=2"]))
        rounding = furthest(record(home / f"{architecture}-rounded"), expected)
        bound = 2 * max(rounding, LEAST_ROUNDING)
        for ranks in (2, 3):
            out = home / f"{architecture}-ddp-{ranks}"
            run(command(data, out, ddp, ranks))
            off = furthest(record(out), expected)
            test = f"ddp on {ranks} ranks, {architecture}"
            yield {"test": test, "updates": updates, "off": off, "bound": bound, "same": off < bound}
        for first, second in ((exact, ddp), (ddp, exact)):
            out = home / f"{architecture}-{len(first)}"
            move([command(data, out, first, 2), command(data, out, second, 2)], out, updates)
            off = furthest(record(out), expected)
            test = f"{'exact, then ddp' if first is exact else 'ddp, then exact'}, {architecture}"
            yield {"test": test, "updates": updates, "off": off, "bound": bound, "same": off < bound}


def last_step(out: Path) -> int:
    file = out / "events.jsonl"
    steps = (
        re.findall(r'"event": "step", "step": (\d+)', file.read_text(encoding="utf-8"))
        if file.exists()
        else []
    )
    return int(steps[-1]) if steps else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", choices=("kills", "ranks", "moves", "ddp"))
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = home / "dates"
        run([sys.executable, "-m", "dragoman", "new", "dates", "-o", str(data)])
        whole = {}
        for architecture in PRESETS:
            out = home / f"{architecture}-1"
            run(command(data, out, settings(architecture, args.updates, every=5)))
            whole[architecture] = record(out)
        if args.only in (None, "kills"):
            expected = whole["transformer"]
            out = home / "killed"
            arguments = command(data, out, settings("transformer", args.updates, every=5))
            struck = kill_until_done(arguments, out, args.kills, args.updates)
            same = record(out) == expected
            rows.append({"test": "kill -9", "kills": struck, "updates": args.updates, "same": same})
        if args.only in (None, "ranks"):
            for (architecture, expected), ranks in product(whole.items(), (2, 4, 8)):
                out = home / f"{architecture}-{ranks}"
                run(command(data, out, settings(architecture, args.updates, every=5), ranks))
                same = record(out) == expected
                test = f"1 rank = {ranks} ranks, {architecture}"
                rows.append({"test": test, "updates": args.updates, "same": same})
        if args.only in (None, "moves"):
            for architecture, expected in whole.items():
                out = home / f"{architecture}-moved"
                overrides = settings(architecture, args.updates, every=5)
                move([command(data, out, overrides, ranks) for ranks in (1, 2, 1, 4)], out, args.updates)
                same = record(out) == expected
                test = f"1, 2, 1 and 4 ranks, {architecture}"
                rows.append({"test": test, "updates": args.updates, "same": same})
        if args.only in (None, "ddp"):
            rows += list(by_ddp(data, home, args.updates, whole))
    for row in rows:
        print(json.dumps(row))
    sys.exit(0 if all(row["same"] for row in rows) else 1)


if __name__ == "__main__":
    main()
