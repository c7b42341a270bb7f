"""Same bits: a run that is killed and resumed, on one rank or several, against one that is not.

    python -m benchmarks.robustness.same_bits [--updates 120] [--kills 3] [--ranks 1 2 3]
        [--precision fp32 bf16]

A small model with dropout learns generated dates, as a Transformer and as a recurrent network. All its
processes are killed with SIGKILL at random moments, also inside saves, and started again each time until the
run is done. Every loss in events.jsonl and the SHA-256 of the weights must be those of the same run on as
many ranks that was not killed. Prints a JSON object a line, and ends with 1 where one is not the same.
"""

from __future__ import annotations

import argparse
import contextlib
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
from itertools import product
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from benchmarks.results import add_record, record

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


def settings(architecture: str, precision: str, updates: int) -> list[str]:
    return [
        *PRESETS[architecture],
        "text.kind=char",
        f"training.updates={updates}",
        "training.batch_tokens=1024",
        f"training.precision={precision}",
        "training.threads=1",
        "training.checkpoint_every=5",
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


def bits_of(out: Path) -> dict[str, Any]:
    """Every loss, and the hash of all weights."""
    events = [
        json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    steps = [(e["step"], e["loss"], e["nll"], e["norm"]) for e in events if e["event"] == "step"]
    weights = hashlib.sha256()
    for name, tensor in sorted(load_file(out / "model" / "weights.safetensors").items()):
        weights.update(name.encode() + tensor.tobytes())
    return {"steps": steps, "weights": weights.hexdigest()}


def kill_until_done(arguments: list[str], out: Path, kills: int, updates: int) -> list[str]:
    """Start the run, kill it, start it again … until it has been killed so often, then let it finish."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    draw = random.Random(1)
    struck: list[str] = []
    while True:
        process = subprocess.Popen(
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        )
        if len(struck) < kills:
            moment = draw.choice(["start-up", "update", "update", "save", "save"])
            await_moment(moment, process, out, draw, most=max(1, updates // kills - 2))
            if process.poll() is None:  # it may be done
                kill(process)
                struck.append(moment)
        _, stderr = process.communicate()
        if process.returncode == 0:
            return struck
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(stderr.decode())


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children: torchrun gives each rank a session of its own."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    for number in (process.pid, *map(int, children.split())):
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def await_moment(
    moment: str, process: subprocess.Popen[bytes], out: Path, draw: random.Random, *, most: int
) -> None:
    """Until a random time of the start, a random update of this life, or the middle of a save in it."""
    if moment == "start-up":
        time.sleep(draw.uniform(0.0, 3.0))
        return
    goal = last_step(out) + draw.randint(1, most)
    while process.poll() is None and last_step(out) < goal:
        time.sleep(0.002)
    while moment == "save" and process.poll() is None and not any((out / "checkpoints").glob(".*.tmp")):
        time.sleep(0.0002)
    time.sleep(draw.uniform(0.0, 0.01))


def last_step(out: Path) -> int:
    file = out / "events.jsonl"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    steps = re.findall(r'"event": "step", "step": (\d+)', text)
    return int(steps[-1]) if steps else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=120)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--precision", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"])
    add_record(parser)
    args = parser.parse_args()
    runs: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = home / "dates"
        run([sys.executable, "-m", "dragoman", "new", "dates", "-o", str(data)])
        for architecture, precision, ranks in product(PRESETS, args.precision, args.ranks):
            name = f"{architecture}-{precision}-{ranks}"
            whole, killed = home / name, home / f"{name}-killed"
            chosen = settings(architecture, precision, args.updates)
            run(command(data, whole, chosen, ranks))
            struck = kill_until_done(command(data, killed, chosen, ranks), killed, args.kills, args.updates)
            same = bits_of(killed) == bits_of(whole)
            row = {"architecture": architecture, "precision": precision, "ranks": ranks}
            print(json.dumps({**row, "updates": args.updates, "killed": struck, "same": same}), flush=True)
            runs.append(same)
    if args.record:
        unit = f"of {len(runs)}"
        note = f"each killed up to {args.kills} times, ranks {args.ranks}, {' and '.join(args.precision)}"
        what = "interrupted runs that are not bit-identical: Transformers and recurrent networks"
        record("same_bits", runs.count(False), unit, note=note, what=what)
    sys.exit(0 if all(runs) else 1)


if __name__ == "__main__":
    main()
