"""Target tokens per second that one core delivers as batches, with and without sub-word sampling.

    python benchmarks/loader.py FOLDER [--data multi30k tatoeba] [--rate 0.1]

English to German, a joint vocabulary of 8,000, batches of 25,000 tokens. For each kind of vocabulary the
same store is read without sampling and with it. Both sides are segmented; only target tokens are counted.
Rates are by the clock and by the time that the processor worked, for the first two passes over the data: in
the first, unigram finds the candidates of each word that it draws, and keeps them. Passes where sampling
leaves 300,000 per second of the processor in the second. Vocabularies and stores are kept below FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import torch

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.build import TrainingData, build_data
from dragoman.data.loader import Loader

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", HERE.parent.parent / "shared" / "data"))
FILES = {
    "multi30k": ("multi30k", "train.{}", "val.{}", "en", "de"),
    "tatoeba": ("tatoeba-deu-eng", "train.{}", "dev.{}", "eng", "deu"),
}
KINDS = ("bpe", "unigram")
BATCH_TOKENS = 25_000
PASSES = 2
LEAST = 300_000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--rate", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    print("| | pass | target tokens/s by the clock | by the processor |\n|---|---|---|---|")
    for name, kind, rate in product(args.data, KINDS, (0, args.rate)):
        data = prepared(name, kind, args.rate, args.folder)
        for number, (clock, core) in enumerate(passes(data, is_sampled=rate > 0), start=1):
            print(f"| {name}, {kind}, rate {rate} | {number} | {clock:,.0f} | {core:,.0f} |", flush=True)
            rows.append([name, kind, rate, number, round(clock), round(core)])
    is_fast = all(core >= LEAST for *_, rate, number, _, core in rows if rate and number == PASSES)
    print(json.dumps({"benchmark": "loader", "rows": rows, "passed": is_fast}))
    return 0 if is_fast else 1


def prepared(name: str, kind: str, rate: float, folder: Path) -> TrainingData:
    home, train, valid, *sides = FILES[name]
    train_files, valid_files = (
        Corpus(files=tuple(str(DATA / home / part.format(side)) for side in sides)) for part in (train, valid)
    )
    text = TextConfig.model_validate({"kind": kind, "size": 8000, "joint": True, "sampling": rate})
    config = DataConfig(train=(train_files,), valid=valid_files)
    return build_data(config, text, folder / f"{name}-{kind}-{rate}", seed=1)


def passes(data: TrainingData, is_sampled: bool) -> Iterator[tuple[float, float]]:
    """Yield the rate of each pass, by the clock and by the processor."""
    loader = Loader(
        data.stores,
        data.weights,
        batch_tokens=BATCH_TOKENS,
        micro_batches=1,
        seed=1,
        resegment=data.text if is_sampled else None,
    )
    stream = loader.stream(0)
    for number in range(1, PASSES + 1):
        tokens, clock, core = 0, time.perf_counter(), time.process_time()
        for batch in stream:
            tokens += sum(int(micro.tgt_keep.sum()) for micro in batch.micro)
            if batch.epoch >= number:
                break
        yield tokens / (time.perf_counter() - clock), tokens / (time.process_time() - core)


if __name__ == "__main__":
    sys.exit(main())
