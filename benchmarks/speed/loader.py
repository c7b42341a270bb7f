"""Target tokens per second that one core delivers as batches, and the cost of planning them on many ranks.

    python -m benchmarks.speed.loader FOLDER [--only sampling|planning] [--data multi30k tatoeba] [--rate 0.1]

English to German, a joint vocabulary of 8,000, batches of 25,000 tokens. For each kind of vocabulary the
same store is read without sampling and with it. Both sides are segmented; only target tokens are counted.
Rates are by the clock and by the time that the processor worked, for the first two passes over the data: in
the first, unigram finds the candidates of each word that it draws, and keeps them. Passes where sampling
leaves 300,000 per second of the processor in the second. Vocabularies and stores are kept below FOLDER.

Planning is what a rank does to know its next micro-batches, without reading them. It is timed alone and as
the last of 1,024 ranks, by turns, with micro-batches of one size, from a corpus that is Multi30k repeated to
10 million pairs. Passes if both are within 10 %, and if a batch of 4 million tokens (128 micro-batches) has 4
million ± 5 %, counted as `training.batch_tokens` are: with padding, on the longer side.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch

from benchmarks import corpora
from benchmarks.results import add_record, record
from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.bucketing import padded
from dragoman.data.build import TrainingData, build_data
from dragoman.data.loader import Loader
from dragoman.data.mixture import Rows
from dragoman.data.store.reader import StoreReader

DATA = corpora.DATA
FILES = {
    "multi30k": ("multi30k", "train.{}", "val.{}", "en", "de"),
    "tatoeba": ("tatoeba-deu-eng", "train.{}", "dev.{}", "eng", "deu"),
}
KINDS = ("bpe", "unigram")
BATCH_TOKENS = 25_000
PASSES = 2
PAIRS = 10_000_000
RANKS = 1024
WINDOWS = 8  # that are planned on each rank
LARGE, MICRO_BATCHES = 4_000_000, 128
LEAST = 300_000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=("sampling", "planning"))
    parser.add_argument("--data", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--rate", type=float, default=0.1)
    add_record(parser)
    args = parser.parse_args()
    torch.set_num_threads(1)
    passed = [
        args.only == "planning" or sampling(args.folder, args.data, args.rate, args.record),
        args.only == "sampling" or planning(args.folder, args.record),
    ]
    return 0 if all(passed) else 1


def sampling(folder: Path, names: list[str], sampled: float, is_recorded: bool) -> bool:
    rows: list[tuple[str, str, float, int, int, int]] = []
    print("| | pass | target tokens/s by the clock | by the processor |\n|---|---|---|---|")
    for name, kind, rate in product(names, KINDS, (0, sampled)):
        data = prepared(name, kind, sampled, folder)
        for number, (clock, core) in enumerate(passes(data, is_sampled=rate > 0), start=1):
            print(f"| {name}, {kind}, rate {rate} | {number} | {clock:,.0f} | {core:,.0f} |", flush=True)
            rows.append((name, kind, rate, number, round(clock), round(core)))
    is_fast = all(core >= LEAST for *_, rate, number, _, core in rows if rate and number == PASSES)
    print(json.dumps({"benchmark": "loader", "rows": rows, "passed": is_fast}))
    for name, kind, rate, number, _, core in rows:
        if is_recorded and rate and number == PASSES:
            record(f"loader.{kind}_{name}", core, "tokens/s", note=f"sampling {rate}")
    return is_fast


class Repeated:
    """A store whose rows are repeated: a large corpus with the lengths of a real one."""

    def __init__(self, store: StoreReader, pairs: int) -> None:
        self.store, self.pairs, self.folder = store, pairs, store.folder

    def __len__(self) -> int:
        return self.pairs

    def lengths(self, rows: Rows) -> tuple[Rows, Rows]:
        return self.store.lengths(rows % len(self.store))


def planning(folder: Path, is_recorded: bool) -> bool:
    [store] = prepared("multi30k", "bpe", 0.0, folder).stores
    corpus: Any = Repeated(store, PAIRS)

    def loader(batch_tokens: int, micro_batches: int, ranks: int = 1) -> Loader:
        return Loader(
            [corpus],
            [1.0],
            batch_tokens=batch_tokens,
            micro_batches=micro_batches,
            seed=1,
            rank=ranks - 1,
            ranks=ranks,
        )

    alone, last = (loader(BATCH_TOKENS * ranks, ranks, ranks) for ranks in (1, RANKS))
    planned, taken = [one.cuts(0, one.mine) for one in (alone, last)], [0.0, 0.0]
    for turn in range(WINDOWS + 1):
        for rank, (one, cuts) in enumerate(zip((alone, last), planned, strict=True)):
            start = time.process_time()
            for _ in range(one.per_window):  # the first plans all micro-batches of a window
                next(cuts)
            taken[rank] += (time.process_time() - start) * bool(turn)
    per_pair = [
        1e6 * seconds / (WINDOWS * one.window_size) for seconds, one in zip(taken, (alone, last), strict=True)
    ]
    print(f"Planning: {per_pair[0]:.3f} µs per pair alone, {per_pair[1]:.3f} µs as one of {RANKS:,} ranks")

    large = loader(LARGE, MICRO_BATCHES)
    sizes = []
    for batch in islice(large.cuts(0, large.mine), large.per_window):
        longest = [padded(window.src_len, window.tgt_len)[rows] for window, rows in batch]
        sizes.append(sum(len(lengths) * int(lengths.max()) for lengths in longest))
    print(f"{len(sizes)} batches of {LARGE:,} tokens: {min(sizes):,} to {max(sizes):,}")
    passed = abs(per_pair[1] / per_pair[0] - 1) <= 0.10 and all(abs(s / LARGE - 1) <= 0.05 for s in sizes)
    facts = {"microseconds": per_pair, "ranks": [1, RANKS], "batch": LARGE, "sizes": [min(sizes), max(sizes)]}
    if is_recorded:
        record("loader.planning_one", round(per_pair[0], 2), "µs per pair")
        record("loader.planning_last", round(per_pair[1], 2), "µs per pair")
        record("loader.batch", round(min(sizes) / 1e6, 2), "million")
    print(json.dumps({"benchmark": "planning", **facts, "passed": passed}))
    return passed


def prepared(name: str, kind: str, rate: float, folder: Path) -> TrainingData:
    home, train, valid, *sides = FILES[name]
    train_files, valid_files = (
        Corpus(files=tuple(str(DATA / home / part.format(side)) for side in sides)) for part in (train, valid)
    )
    text = TextConfig.model_validate({"kind": kind, "size": 8000, "joint": True, "sampling": rate})
    config = DataConfig(train=(train_files,), valid=valid_files)
    return build_data(config, text, folder / f"{name}-{kind}-{rate}")


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
