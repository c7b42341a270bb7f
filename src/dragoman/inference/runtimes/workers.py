"""Several processes that decode in torch, each with a model and a core of its own.

A step of a small model is over before a second core could help with it; a second batch keeps that core busy.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple, Unpack

import torch

from dragoman.allocator import keep_freed_memory
from dragoman.config.search import SearchConfig
from dragoman.cores import threads
from dragoman.inference.result import EMPTY, Result
from dragoman.inference.runtimes.torch import TorchRuntime, load_torch_runtime
from dragoman.inference.runtimes.torch import length_batches as of_like_length
from dragoman.models.bundle import Bundle
from dragoman.steering.options import SteeringOptions

CHUNKS_PER_WORKER = (
    2  # for each worker, if there are as many batches: the last of them end at about the same time
)
MAX_ATTEMPTS = 2  # with workers, before this process decodes what they could not


class ModelPaths(NamedTuple):
    """The folders that a translator is made of."""

    folder: Path
    ensemble: tuple[Path, ...]
    reverse: Path | None


class TranslatorPool(TorchRuntime):
    """A translator whose texts go to whichever worker is free, some batches at a time.

    What is asked of single outputs, and what is one share, it decodes alone. Where a worker dies (the system
    kills one when memory is short), new workers try once again; what fails with them is decoded alone, too.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        workers: int,
        models: ModelPaths,
        bundle: Bundle,
        *more: Bundle,
        reverse: Bundle | None = None,
    ) -> None:
        super().__init__(bundle, *more, reverse=reverse)
        self.start, self.pool, self.lock = start, start(), Lock()
        self.workers, self.models = workers, models

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[SteeringOptions],
    ) -> list[Result]:
        config = search or self.search
        shares = [] if any(asked.values()) else self.shares(texts, config.batch_sentences)
        if len(shares) < 2:
            return super().__call__(texts, config, details=details, trace=trace, **asked)
        work = partial(decode, self.models, search=config, details=details, trace=trace)
        results = [EMPTY for _ in texts]
        batches = [[texts[place] for place in share] for share in shares]
        for share, batch, answer in zip(shares, batches, self.shared(work, batches), strict=True):
            if answer is None:
                answer = super().__call__(batch, config, details=details, trace=trace)
            for place, result in zip(share, answer, strict=True):
                results[place] = result
        return results

    def shared(
        self, work: Callable[[list[str]], list[Result]], batches: Sequence[list[str]]
    ) -> list[list[Result] | None]:
        """What the workers make of each batch; None where they died at each try."""
        answers: list[list[Result] | None] = [None for _ in batches]
        for _ in range(MAX_ATTEMPTS):
            left = [number for number, answer in enumerate(answers) if answer is None]
            pool = self.pool
            try:
                for number, answer in zip(left, pool.map(work, [batches[n] for n in left]), strict=True):
                    answers[number] = answer
                break
            except BrokenProcessPool:
                with self.lock:  # calls may come from several threads: the first one starts new workers
                    if self.pool is pool:
                        self.pool = self.start()
        return answers

    def shares(self, texts: Sequence[str], size: int) -> list[list[int]]:
        """The places of each, longest first."""
        lengths = [min(len(source), self.longest_source) for source in self.text.read(texts)]
        batches = max(len(texts) // (size * self.workers * CHUNKS_PER_WORKER), 1)
        return list(of_like_length(lengths, size * batches))[::-1]


def load_pool(
    workers: int, folder: Path, ensemble: Sequence[Path] = (), reverse: Path | None = None
) -> TorchRuntime:
    """Workers begin when there is work for them, and end with this process."""
    models = ModelPaths(folder, tuple(ensemble), reverse)
    share = max(min(torch.get_num_threads(), threads()) // workers, 1)
    # A fork would copy the locks of torch's threads, held or not.
    start = partial(ProcessPoolExecutor, workers, get_context("spawn"), init_worker, (share, models))
    return load_torch_runtime(*models, make=partial(TranslatorPool, start, workers, models))


def init_worker(share: int, models: ModelPaths) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that was started
    Thread(target=end_with_parent, daemon=True).start()
    keep_freed_memory()
    torch.set_num_threads(share)
    process_translator(models)


def end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


@cache
def process_translator(models: ModelPaths) -> TorchRuntime:
    return load_torch_runtime(*models)


def decode(
    models: ModelPaths, texts: Sequence[str], search: SearchConfig, *, details: bool, trace: bool
) -> list[Result]:
    """In a worker."""
    return process_translator(models)(texts, search, details=details, trace=trace)
