"""The speed of this tree over that of another revision, in training and in decoding.

    python -m benchmarks.speed.speed_against REVISION [--turns 10] [--only train rnn bf16 decode]

Training is that of `train_vs_bare`: Multi30k, batches of 4,096 tokens, a Transformer and a
recurrent network in fp32, the Transformer in bf16. Decoding is a beam of 5 with a `transformer-tiny` that the
other tree has trained on dates for 300 updates. Each tree has a process of its own that stays alive, with one
thread; both work by turns, so that they meet the same noise, and what is counted is the time that the
processor worked. The ratio is the median of those of the turns, with its interval: more is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.ratios import median_of

HOME = Path(__file__).resolve().parents[2]

TRAIN = """
import sys, tempfile, time
from pathlib import Path
import torch
try:
    from benchmarks.speed import train_vs_bare
except ImportError:  # an older tree
    import train_vs_bare
torch.set_num_threads(1)
train_vs_bare.THREADS = 1
updates = train_vs_bare.TRAINERS["dragoman"](sys.argv[1], sys.argv[2], Path(tempfile.mkdtemp()))
for line in sys.stdin:
    start = time.process_time()
    done = sum(next(updates)[0] for _ in range(5))
    print(done / (time.process_time() - start), flush=True)
"""
TRAININGS = {"train": ["transformer", "fp32"], "rnn": ["recurrent", "fp32"], "bf16": ["transformer", "bf16"]}
DECODE = """
import sys, time
import torch
import dragoman
torch.set_num_threads(1)
model = dragoman.load(sys.argv[1])
sources = open(sys.argv[2], encoding="utf-8").read().split("\\n")[:256]
sources = [line.partition("\\t")[0] for line in sources]
search = {"kind": "beam", "size": 5, "stop": "n_best"}
for line in sys.stdin:
    start = time.process_time()
    model(sources, search)
    print(len(sources) / (time.process_time() - start), flush=True)
"""


@contextmanager
def tree_of(revision: str, folder: Path) -> Iterator[Path]:
    tree = folder / "tree"
    git = ["git", "-C", str(HOME), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(tree), revision], check=True)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def environment(tree: Path) -> dict[str, str]:
    path = os.pathsep.join(map(str, (tree / "src", tree / "benchmarks", tree)))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def compare(trees: dict[str, Path], program: str, arguments: list[str], turns: int) -> dict[str, object]:
    """Return the median rate of each tree, and the median of the ratios of the turns."""
    alive = {
        name: subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=tree,  # python -c looks there first
            env=environment(tree),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, tree in trees.items()
    }
    rates: dict[str, list[float]] = {name: [] for name in alive}
    for turn in range(turns + 1):  # the first is the warm-up
        for name in alive if turn % 2 else reversed(alive):
            process = alive[name]
            assert process.stdin
            assert process.stdout
            print(file=process.stdin, flush=True)
            rate = float(process.stdout.readline())
            rates[name] += [rate] if turn else []
    for process in alive.values():
        process.kill()
        process.wait()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    ratios = [this / other for this, other in zip(rates["this"], rates["other"], strict=True)]
    return {**medians, "ratio": median_of(ratios)._asdict()}


def tiny(tree: Path, folder: Path) -> tuple[Path, Path]:
    """Return a model of dates that the tree has trained, and a file of sources."""
    there = environment(tree)
    dragoman = [sys.executable, "-m", "dragoman"]
    data, out = folder / "dates", folder / "model"
    subprocess.run([*dragoman, "new", "dates", "-o", str(data)], env=there, check=True, capture_output=True)
    files = [str(data / "train.tsv"), "--valid", str(data / "valid.tsv")]
    settings = [
        "model.preset=transformer-tiny",
        "text.kind=char",
        "training.updates=300",
        "training.threads=1",
    ]
    train = [*dragoman, "train", *files, "-o", str(out), "--yes", *settings]
    subprocess.run(train, env=there, check=True, capture_output=True)
    return out, data / "valid.tsv"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=(*TRAININGS, "decode"), default=[*TRAININGS, "decode"])
    args = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as name, tree_of(args.revision, Path(name)) as other:
        trees = {"other": other, "this": HOME}
        for kind in args.only:
            if kind in TRAININGS:
                rows[f"{kind}, target tokens/s"] = compare(trees, TRAIN, TRAININGS[kind], args.turns)
        if "decode" in args.only:
            model, sources = tiny(other, Path(name))
            rows["decode, sentences/s"] = compare(trees, DECODE, [str(model), str(sources)], args.turns)
    print(json.dumps({"benchmark": "speed_against", "revision": args.revision, **rows}))


if __name__ == "__main__":
    main()
