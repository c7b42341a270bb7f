"""Same bits: a run killed again and again, a run on two ranks, and one that moves, against it undisturbed.

    python benchmarks/same_bits.py [--updates 200] [--kills 20] [--only kills|ranks|moves]

A small model with dropout learns generated dates. (1) `dragoman train` is killed with SIGKILL at random
moments, also inside saves, and started again each time until it is done. (2) It runs on 1 rank and on 2
(torchrun, gloo), as a Transformer and as a recurrent network. (3) It begins on 1 rank, is stopped and resumed
on 2, on 1 again and on 4. Every loss in events.jsonl and the SHA-256 of the weights must be the same.
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
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

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


def move(data: Path, out: Path, overrides: list[str], updates: int) -> None:
    """On 1, 2, 1 and 4 ranks, a quarter of the updates each."""
    for quarter, ranks in enumerate((1, 2, 1, 4), start=1):
        arguments = command(data, out, overrides, ranks)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, env=environment)
        if quarter < 4:
            while process.poll() is None and last_step(out) < quarter * updates // 4:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate()
        if process.returncode and quarter == 4:
            raise SystemExit(stderr.decode())


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
    parser.add_argument("--only", choices=("kills", "ranks", "moves"))
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
            for architecture, expected in whole.items():
                out = home / f"{architecture}-2"
                run(command(data, out, settings(architecture, args.updates, every=5), ranks=2))
                same = record(out) == expected
                rows.append(
                    {"test": f"1 rank = 2 ranks, {architecture}", "updates": args.updates, "same": same}
                )
        if args.only in (None, "moves"):
            for architecture, expected in whole.items():
                out = home / f"{architecture}-moved"
                move(data, out, settings(architecture, args.updates, every=5), args.updates)
                same = record(out) == expected
                test = f"1, 2, 1 and 4 ranks, {architecture}"
                rows.append({"test": test, "updates": args.updates, "same": same})
    for row in rows:
        print(json.dumps(row))
    sys.exit(0 if all(row["same"] for row in rows) else 1)


if __name__ == "__main__":
    main()
