"""Same bits: a run killed again and again, and a run on two ranks, against the same run undisturbed.

    python benchmarks/same_bits.py [--updates 200] [--kills 20] [--only kills|ranks]

A small model with dropout learns generated dates. (1) `dragoman train` is killed with SIGKILL at random
moments, also inside saves, and started again each time until it is done. (2) It runs on 1 rank and on 2
(torchrun, gloo), as a Transformer and as a recurrent network. Every loss in events.jsonl and the SHA-256 of the
weights must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
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
        "training.micro_batches=2",
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


def kill_until_done(arguments: list[str], kills: int, rng: random.Random, longest: float) -> int:
    """Start the run, kill it at a random moment, start it again …; how many kills hit a living run."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed = 0
    while True:
        process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        )
        if killed < kills:
            time.sleep(wait(process, Path(arguments[arguments.index("-o") + 1]), rng, longest))
            process.send_signal(signal.SIGKILL)
        _, stderr = process.communicate()
        if process.returncode == 0:
            return killed
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(stderr.decode())
        killed += 1


def wait(process: subprocess.Popen[bytes], out: Path, rng: random.Random, longest: float) -> float:
    """Every second kill waits for a save to begin and strikes within it; the others strike anywhere."""
    if rng.random() < 0.5:
        return rng.uniform(2.0, longest)
    home, until = out / "checkpoints", time.monotonic() + longest
    while time.monotonic() < until and process.poll() is None:
        if any(home.glob(".*.tmp")):
            return rng.uniform(0.0, 0.01)
        time.sleep(0.0005)
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", choices=("kills", "ranks"))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = home / "dates"
        run([sys.executable, "-m", "dragoman", "new", "dates", "-o", str(data)])
        whole = {}
        for architecture in PRESETS:
            out = home / f"{architecture}-1"
            started = time.monotonic()
            run(command(data, out, settings(architecture, args.updates, every=5)))
            whole[architecture] = record(out), time.monotonic() - started
        if args.only != "ranks":
            expected, seconds = whole["transformer"]
            out = home / "killed"
            arguments = command(data, out, settings("transformer", args.updates, every=5))
            killed = kill_until_done(arguments, args.kills, random.Random(args.seed), max(6.0, seconds / 3))
            rows.append(
                {"test": "kill -9", "kills": killed, "updates": args.updates, "same": record(out) == expected}
            )
        if args.only != "kills":
            for architecture, (expected, _) in whole.items():
                out = home / f"{architecture}-2"
                run(command(data, out, settings(architecture, args.updates, every=5), ranks=2))
                same = record(out) == expected
                rows.append(
                    {"test": f"1 rank = 2 ranks, {architecture}", "updates": args.updates, "same": same}
                )
    for row in rows:
        print(json.dumps(row))
    sys.exit(0 if all(row["same"] for row in rows) else 1)


if __name__ == "__main__":
    main()
