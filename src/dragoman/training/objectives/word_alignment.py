"""Word alignments for guided attention: learned once from the token store, saved in the run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from dragoman.data.collate import IdPair
from dragoman.data.padding import pad_pairs
from dragoman.data.sources import is_current
from dragoman.data.store.layout import digest
from dragoman.data.store.reader import StoreReader
from dragoman.durable import new_folder
from dragoman.models.diagonal_prior import diagonal_prior_of
from dragoman.models.ibm1 import PaddedPairs, TranslationTable, learn

# Pairs to learn from, spread evenly over the stores. This limits the time; the table's size, the memory.
MAX_PAIRS = 50_000
ITERATIONS = 4
ROWS, TOGETHER = 2048, 32  # pairs that are read together, and that are padded together
FORMAT = 3


class TwoTables(NamedTuple):
    forward: TranslationTable  # t(y | x)
    backward: TranslationTable  # t(x | y)


def load_or_train_aligners(
    stores: Sequence[StoreReader], src_vocabulary: int, tgt_vocabulary: int, folder: Path
) -> TwoTables:
    """Return the tables in `folder` if they were learned from these stores, else learn new ones."""
    origin = digest([FORMAT, MAX_PAIRS, ITERATIONS, [store.manifest.fingerprint for store in stores]])
    if is_current(folder, origin):
        saved = load_file(folder / "tables.safetensors")
        found = (TranslationTable(saved[f"{name}.keys"], saved[f"{name}.t"]) for name in TwoTables._fields)
        return TwoTables(*found)
    tables = TwoTables(
        learn(partial(sentences, stores), tgt_vocabulary, ITERATIONS, prior=diagonal_prior_of),
        learn(partial(sentences, stores, backward=True), src_vocabulary, ITERATIONS, prior=diagonal_prior_of),
    )
    arrays = {
        f"{name}.{part}": array
        for name, table in tables._asdict().items()
        for part, array in table._asdict().items()
    }
    with new_folder(folder) as new:
        save_file(arrays, new / "tables.safetensors")
        (new / "origin").write_text(origin, encoding="utf-8")
    return tables


def sentences(stores: Sequence[StoreReader], *, backward: bool = False) -> Iterator[PaddedPairs]:
    """Yield pairs of all stores in small batches of similar length; each call yields the same."""
    total = sum(len(store) for store in stores)
    for store in stores:
        count = min(len(store), max(1, MAX_PAIRS * len(store) // total))
        rows = np.arange(count) * len(store) // count
        for start in range(0, count, ROWS):
            pairs = sorted(store.read(rows[start : start + ROWS]), key=lengths_of_pair)
            if backward:
                pairs = [(tgt, src) for src, tgt in pairs]
            yield from (
                PaddedPairs(*pad_pairs(pairs[k : k + TOGETHER])) for k in range(0, len(pairs), TOGETHER)
            )


def lengths_of_pair(pair: IdPair) -> tuple[int, int]:
    return len(pair[0]), len(pair[1])
