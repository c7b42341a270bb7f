"""Several processes that decode in torch, each with a model and a core of its own.

A step of a small model is over before a second core could help with it; a second batch keeps that core busy.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import NamedTuple, Unpack

import torch

from dragoman.config.search import SearchConfig
from dragoman.inference.asked import Asked
from dragoman.inference.result import EMPTY, Result
from dragoman.inference.translator import Translator, batches, load_translator
from dragoman.memory import keep_freed_memory
from dragoman.models.bundle import Bundle


class Models(NamedTuple):
    """The folders that a translator is made of."""

    folder: Path
    ensemble: tuple[Path, ...]
    reverse: Path | None


class Crew(Translator):
    """A translator whose batches go to whichever worker is free, and come back as they would from itself.

    What is asked of single outputs, and what is one batch, it decodes alone.
    """

    def __init__(
        self, pool: Executor, models: Models, bundle: Bundle, *more: Bundle, reverse: Bundle | None = None
    ) -> None:
        super().__init__(bundle, *more, reverse=reverse)
        self.pool = pool
        self.models = models

    def __call__(
        self,
        texts: Sequence[str],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[Asked],
    ) -> list[Result]:
        config = search or self.search
        shares = [] if any(asked.values()) else self.shares(texts, config.batch_sentences)
        if len(shares) < 2:
            return super().__call__(texts, config, details=details, trace=trace, **asked)
        work = partial(decode, self.models, search=config, details=details, trace=trace)
        results = [EMPTY for _ in texts]
        answers = self.pool.map(work, [[texts[place] for place in share] for share in shares])
        for share, answer in zip(shares, answers, strict=True):
            for place, result in zip(share, answer, strict=True):
                results[place] = result
        return results

    def shares(self, texts: Sequence[str], size: int) -> list[list[int]]:
        """The places of each batch, longest first, so that all workers end at about the same time."""
        lengths = [min(len(source), self.longest_source) for source in self.text.read(texts)]
        return list(batches(lengths, size))[::-1]


def load_crew(
    workers: int, folder: Path, ensemble: Sequence[Path] = (), reverse: Path | None = None
) -> Translator:
    """Workers begin when there is work for them, and end with this process."""
    models, threads = Models(folder, tuple(ensemble), reverse), max(torch.get_num_threads() // workers, 1)
    # A fork would copy the locks of torch's threads, held or not.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), begin, (threads, models))
    return load_translator(*models, make=partial(Crew, pool, models))


def begin(threads: int, models: Models) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that was started
    Thread(target=end_with_parent, daemon=True).start()
    keep_freed_memory()
    torch.set_num_threads(threads)
    of_this_process(models)


def end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


@cache
def of_this_process(models: Models) -> Translator:
    return load_translator(*models)


def decode(
    models: Models, texts: Sequence[str], search: SearchConfig, *, details: bool, trace: bool
) -> list[Result]:
    """In a worker."""
    return of_this_process(models)(texts, search, details=details, trace=trace)
