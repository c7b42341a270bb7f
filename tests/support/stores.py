"""Token stores of given ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.data.store.writer import IdPair, ShardFacts, disown, join, new_shard


def write_shards(
    folder: Path, pairs: Sequence[IdPair], *, vocabulary: int, shard_pairs: int = 100, made_from: str = "x"
) -> list[ShardFacts]:
    """Write the shards of a store, without its manifest."""
    disown(folder)
    shards = []
    for number, start in enumerate(range(0, max(len(pairs), 1), shard_pairs)):
        facts = ShardFacts(made_from)
        with new_shard(folder, number, vocabulary=vocabulary, shard_pairs=shard_pairs, facts=facts) as writer:
            writer.extend(pairs[start : start + shard_pairs])
        shards.append(facts)
    return shards


def write_store(
    folder: Path,
    pairs: Sequence[IdPair],
    *,
    vocabulary: int = 1000,
    shard_pairs: int = 100,
    made_from: str = "x",
) -> Path:
    shards = write_shards(folder, pairs, vocabulary=vocabulary, shard_pairs=shard_pairs, made_from=made_from)
    join(folder, shards, vocabulary=vocabulary, shard_pairs=shard_pairs)
    return folder
