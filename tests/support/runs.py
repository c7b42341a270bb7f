"""Whole training runs of a tiny model on words to reverse, in this process or on ranks of `torchrun`."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from dragoman.data.recipes.reverse.generate import splits

UPDATES = 14
# The relative difference of losses and norms in that many updates. Sums in another order differ in the last
# bits of fp32, 6e-8, and each update increases the difference.
ROUNDING = 2e-5
TRANSFORMER = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 32, "dropout": 0.2}
RNN = {"kind": "rnn", "width": 12, "embedding": 16, "dropout": 0.2}
SAMPLING = {"kind": "scheduled_sampling", "decay": "linear", "half_at": 7, "coverage": 0.2, "alignment": 0.2}


def write_words(folder: Path) -> None:
    for name, pairs in splits().items():
        lines = [f"{src}\t{tgt}\n" for src, tgt in pairs[:600]]
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def settings(words: Path, part: dict[str, Any], **training: Any) -> dict[str, Any]:
    return {
        "data": {
            "train": [{"files": [str(words / "train.tsv")]}],
            "valid": {"files": [str(words / "valid.tsv")]},
        },
        "text": {"kind": "char", "sampling": 0.0},
        "model": {"encoder": part, "decoder": part},
        "training": {
            "updates": UPDATES,
            "batch_tokens": 300,
            "threads": 1,
            "warmup": 4,
            "checkpoint_every": 3,
            "validate_every": 7,
            "valid_decode": 5,
            "precision": "fp32",
            **training,
        },
    }


class StopAt:
    """A listener that asks the run to stop at a step, as Ctrl-C would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "step" and event["step"] == self.step:
            os.kill(os.getpid(), signal.SIGINT)


RUN = """
import json, os, signal, sys
from pathlib import Path
from dragoman.config.load import load
from dragoman.training.run import Run

def listen(event):  # of the first rank only
    if event["event"] == "step" and event["step"] == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGINT)

Run(load(None, base=json.loads(sys.argv[1])), Path(sys.argv[2]), [listen], lambda _: True).train()
"""


def start(
    tables: dict[str, Any], out: Path, ranks: int = 1, stop: int = 0, first: str = ""
) -> subprocess.CompletedProcess[str]:
    """Train on so many ranks, in processes of their own, which run the code `first` before; stop at a step,
    where one is given."""
    script = out.parent / f"{out.name}.py"
    script.write_text(first + RUN, encoding="utf-8")
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command = [sys.executable, *(torchrun if ranks > 1 else []), str(script)]
    command += [json.dumps(tables), str(out), str(stop)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)


def train(tables: dict[str, Any], out: Path, ranks: int = 1, stop: int = 0) -> None:
    done = start(tables, out, ranks, stop)
    assert done.returncode == 0, done.stderr


def losses(out: Path) -> list[float]:
    """Return the loss, the nll and the norm of every update."""
    return [number for step in record(out)[0] for number in step]


def record(out: Path) -> tuple[list[tuple[Any, ...]], str]:
    events = [
        json.loads(line) for line in (out / "events.jsonl").read_text(encoding="utf-8").split("\n") if line
    ]
    steps = [(e["step"], e["loss"], e["nll"], e["norm"]) for e in events if e["event"] == "step"]
    digest = hashlib.sha256()
    for name, tensor in sorted(load_file(out / "model" / "weights.safetensors").items()):
        digest.update(name.encode() + tensor.tobytes())
    return steps, digest.hexdigest()
