"""The token stores of all corpora: planned, prepared shard by shard, and joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import cast

from dragoman.data.executors import Executor, Task
from dragoman.data.pieces import COPY, Piece
from dragoman.data.prepare import Done, StoreJob, nothing_left, prepare_shard
from dragoman.data.readers.bad_line import BadLine, Kind, OnBad
from dragoman.data.store.layout import MANIFEST
from dragoman.data.store.reader import StoreReader
from dragoman.data.store.writer import join
from dragoman.durable import remove_folder
from dragoman.errors import DataError
from dragoman.text.tokenizer_pair import TokenizerPair

OnProgress = Callable[[str, Done, int], None]  # corpus, what is done so far, pairs in all


class Unfinished(DataError):
    """Raised if some shards are still missing, because they belong to other parts."""

    def __init__(self, missing: int, shards: int) -> None:
        super().__init__(f"{missing:,} of {shards:,} shards are not prepared yet.")


@dataclass(frozen=True)
class StorePlan:
    """A store, and the pieces of its corpus that become shards; none if it is there already."""

    origin: str  # the names of the files
    job: StoreJob
    pieces: Sequence[Piece]

    def tasks(self) -> Iterator[Task]:
        return (partial(prepare_shard, self.job, piece) for piece in self.pieces)

    @property
    def lines(self) -> int:
        return sum(piece.spans[0].lines for piece in self.pieces)

    def joined(self, text: TokenizerPair, on_bad: OnBad) -> StoreReader:
        """Return the store. Bad lines are reported in their order."""
        if self.pieces:
            job = self.job
            found = [job.shard(piece.number, verified=False) for piece in self.pieces]
            shards = [facts for facts in found if facts]
            if len(shards) < len(found):
                raise Unfinished(len(found) - len(shards), len(found))
            for kind, file, line in (bad for facts in shards for bad in facts.bad):
                on_bad(BadLine(cast(Kind, kind), file, line, DataError("")))
            join(
                job.home,
                shards,
                vocabulary=max(text.src.size, text.tgt.size),
                shard_pairs=job.shard_pairs,
                frames=job.frames,
            )
        remove_folder(self.job.home / COPY)
        store = StoreReader(self.job.home)
        if not len(store):
            (self.job.home / MANIFEST).unlink()
            raise nothing_left(self.origin, store.manifest.counts, self.job.encode)
        return store


def prepare_stores(plans: Sequence[StorePlan], execute: Executor, progress: OnProgress | None) -> None:
    """Prepare the shards of all stores."""
    tasks = [task for plan in plans for task in plan.tasks()]
    names = plans[0].origin if len(plans) == 1 else f"{len(plans)} corpora"
    total = sum(plan.lines for plan in plans)
    so_far = Done(0, 0)
    for done in chain([so_far], execute(tasks)) if tasks else ():
        so_far = Done(*map(sum, zip(so_far, done, strict=True)))
        if progress:
            progress(names, so_far, total)
