"""Letters to phonemes: CMUdict without stress, word error rate on the test words.

    python -m benchmarks.quality.cmudict OUT [lstm transformer]

Trains each settings file of cmudict/ into a folder of its own below OUT (an unfinished run is gone
on with, a finished one is only scored). A word is right if the output is any of its pronunciations, as in the
published figures of g2p-seq2seq: Transformer 30.2 %, LSTM about 31 %, WFST 33.9 %.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.results import add_record, record
from benchmarks.run_log import RunLog
from dragoman.config.search import SearchConfig
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.model import Model, load

HERE = Path(__file__).resolve().parent
DATA = corpora.DATA / "cmudict"
SEARCHES = {"greedy": SearchConfig(kind="greedy"), "beam 5": SearchConfig(size=5)}


def train(name: str, out: Path, threads: int) -> None:
    if (out / "model").exists():
        return
    settings = str(HERE / "cmudict" / f"{name}.toml")
    files = [str(DATA / "train.tsv"), "--valid", str(DATA / "dev.tsv")]
    command = [sys.executable, "-m", "dragoman", "train", *files, "-c", settings, "-o", str(out), "--yes"]
    subprocess.run([*command, f"training.threads={threads}"], check=True)


def pronunciations(part: str) -> dict[str, set[str]]:
    known = defaultdict(set)
    for pair in open_pairs([DATA / f"{part}.tsv"]):
        known[pair.src].add(pair.tgt)
    return known


def word_errors(model: Model, known: dict[str, set[str]], search: SearchConfig) -> float:
    """In per cent."""
    words = list(known)
    outputs = model(words, search)
    wrong = sum(result.text not in known[word] for word, result in zip(words, outputs, strict=True))
    return 100.0 * wrong / len(words)


def measure(name: str, out: Path, threads: int) -> dict[str, Any]:
    train(name, out, threads)
    model, log = load(out), RunLog(out)
    rates = {
        f"{part}, {label}": word_errors(model, pronunciations(part), search)
        for part in ("dev", "test")
        for label, search in SEARCHES.items()
    }
    return {"name": name, "minutes": log.minutes, "parameters": log.parameters, "WER": rates}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=["lstm", "transformer"])
    parser.add_argument("--threads", type=int, default=0, help="of each training; 0 takes all")
    add_record(parser)
    args = parser.parse_args()
    found = [measure(name, args.out / name, args.threads) for name in args.names]
    print(json.dumps({"benchmark": "cmudict", "found": found}))
    for each in found if args.record else ():
        [rate] = (rate for name, rate in each["WER"].items() if "test" in name and "beam" in name)
        record(f"cmudict.{each['name']}", round(rate, 1), "%", note=f"{each['minutes']:.0f} minutes")
    print(f"| model | minutes | parameters | {' | '.join(found[0]['WER'])} |")
    print(f"|---|---|---|{'---|' * len(found[0]['WER'])}")
    for each in found:
        rates = " | ".join(f"{rate:.2f} %" for rate in each["WER"].values())
        print(f"| {each['name']} | {each['minutes']:.0f} | {each['parameters'] / 1e6:.1f} M | {rates} |")


if __name__ == "__main__":
    main()
