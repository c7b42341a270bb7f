"""Worker processes that decode in PyTorch, each with its own model and its share of the cores.

A step of a small model is too short to be split between cores; a second batch keeps a second core busy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Unpack

import torch

from dragoman.allocator import keep_freed_memory
from dragoman.config.search import SearchConfig
from dragoman.cores import threads
from dragoman.inference.result import EMPTY, Result
from dragoman.inference.runtimes.torch import TorchRuntime, load_torch_runtime
from dragoman.models.bundle import Bundle
from dragoman.search.batch_invariance import invariant_batches
from dragoman.steering.options import SteeringOptions
from dragoman.worker import begin_worker

# If there are enough batches, several chunks per worker let all workers finish at about the same time.
CHUNKS_PER_WORKER = 2
MAX_ATTEMPTS = 2  # with workers, before this process decodes the rest


class ModelPaths(NamedTuple):
    """The folders of the models of a translator."""

    folder: Path
    ensemble: tuple[Path, ...]
    reverse: Path | None
    lm: Path | None


class TranslatorPool(TorchRuntime):
    """A translator that distributes its texts over worker processes, some batches at a time.

    It decodes calls with constraints, and calls that make a single share, in its own process. If a worker
    dies (the system kills one when memory is short), new workers try once more; what fails again is decoded
    in this process, too.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        workers: int,
        models: ModelPaths,
        bundle: Bundle,
        *more: Bundle,
        reverse: Bundle | None = None,
        lm: Bundle | None = None,
    ) -> None:
        super().__init__(bundle, *more, reverse=reverse, lm=lm)
        self.start, self.pool, self.lock = start, start(), Lock()
        self.workers, self.models = workers, models

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> list[Result]:
        config = search or self.search
        shares = [] if any(options.values()) else self.shares(texts, config.batch_sentences)
        if len(shares) < 2:
            return super().__call__(texts, config, details=details, trace=trace, **options)
        work = partial(decode, self.models, search=config, details=details, trace=trace)
        results = [EMPTY for _ in texts]
        batches = [[texts[index] for index in share] for share in shares]
        for share, batch, answer in zip(shares, batches, self.shared(work, batches), strict=True):
            if answer is None:
                answer = super().__call__(batch, config, details=details, trace=trace)
            for index, result in zip(share, answer, strict=True):
                results[index] = result
        return results

    def shared(
        self, work: Callable[[list[str]], list[Result]], batches: Sequence[list[str]]
    ) -> list[list[Result] | None]:
        """Return the results of the workers for each batch; None where they died at every attempt."""
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
        """Return the indices of the texts of each share, longest texts first."""
        lengths = [min(len(source), self.longest_source) for source in self.text.read(texts)]
        batches = max(len(texts) // (size * self.workers * CHUNKS_PER_WORKER), 1)
        return list(invariant_batches(lengths, size * batches))[::-1]


def load_pool(
    workers: int,
    folder: Path,
    ensemble: Sequence[Path] = (),
    reverse: Path | None = None,
    lm: Path | None = None,
) -> TorchRuntime:
    """Return a translator with workers, which start with the first work and end with this process."""
    models = ModelPaths(folder, tuple(ensemble), reverse, lm)
    share = max(min(torch.get_num_threads(), threads()) // workers, 1)
    # A fork would copy the locks of torch's threads, held or not.
    start = partial(ProcessPoolExecutor, workers, get_context("spawn"), init_worker, (share, models))
    return load_torch_runtime(*models, make=partial(TranslatorPool, start, workers, models))


def init_worker(share: int, models: ModelPaths) -> None:
    begin_worker()
    keep_freed_memory()
    torch.set_num_threads(share)
    process_translator(models)


@cache
def process_translator(models: ModelPaths) -> TorchRuntime:
    return load_torch_runtime(*models)


def decode(
    models: ModelPaths, texts: Sequence[str], search: SearchConfig, *, details: bool, trace: bool
) -> list[Result]:
    """Decode texts in a worker."""
    return process_translator(models)(texts, search, details=details, trace=trace)
