"""Where the shards of token stores are prepared: in this process, or in a pool of processes.

An executor runs every task and yields their progress, in any order. A task can be pickled, may run in any
process that sees the same files, and does nothing if its shard is there already. What a killed process did
not finish is therefore done by the next one, and the bytes do not depend on the executor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import active_children, get_context

from dragoman.data.prepare import Done
from dragoman.errors import DragomanError
from dragoman.worker import begin_worker, starting_workers

Task = Callable[[], Iterator[Done]]
Executor = Callable[[Sequence[Task]], Iterator[Done]]


def in_process(tasks: Sequence[Task]) -> Iterator[Done]:
    for task in tasks:
        yield from task()


def in_pool(workers: int) -> Executor:
    """Return an executor with `workers` processes."""
    return in_process if workers == 1 else partial(run_in_pool, workers)


def part_of(execute: Executor, part: int, parts: int) -> Executor:
    """Return an executor of one part of the tasks; `part` begins at 0."""
    return lambda tasks: execute(tasks[part::parts])


def run_in_pool(workers: int, tasks: Sequence[Task]) -> Iterator[Done]:
    others = set(active_children())
    # A fork would copy the locks of threads, held or not.
    with ProcessPoolExecutor(workers, get_context("spawn"), init_worker) as pool:
        try:
            with starting_workers():
                waiting = [pool.submit(finish, task) for task in tasks]
            for done in as_completed(waiting):
                yield done.result()
        except BaseException as error:  # also Ctrl-C, and a generator that is closed
            for child in set(active_children()) - others:
                child.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise killed() from None
            raise


def init_worker() -> None:
    begin_worker()
    os.environ["OMP_NUM_THREADS"] = "1"  # there is a process for each core


def finish(task: Task) -> Done:
    """Run a task to its end in a worker, and return its progress in one piece."""
    return Done(*map(sum, zip(*task(), strict=True)))


def killed() -> DragomanError:
    return DragomanError(
        "A worker process was killed, perhaps by the system because memory is short.",
        hint="Run the same command again, with fewer --workers if memory is short; finished shards are kept.",
    )
