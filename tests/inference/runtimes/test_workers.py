"""A crew against the translator that it shares the work of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.errors import UsageError
from dragoman.inference.model import Model, load
from dragoman.inference.runtimes.workers import TranslatorPool
from support.exported_folder import exported_folder
from support.tiny_bundle import WORDS, tiny_folder

TEXTS = [" ".join(WORDS[i % 7 : i % 7 + 1 + i % 9]) for i in range(40)] + ["", " "]
SEARCH = {"kind": "beam", "size": 3, "batch_sentences": 4, "n_best": 2}

PROGRAM = """
import sys
from dragoman.inference.model import load
if __name__ == "__main__":
    crew = load(sys.argv[1], workers=2)
    crew(["a b", "c d"] * 8, {"batch_sentences": 4})
    print(*[process.pid for process in crew.translator.pool._processes.values()], flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("crew") / "model")


@pytest.fixture(scope="module")
def crew(folder: Path) -> Iterator[Model]:
    """On a machine of 8 cores, of which this process may use two."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OMP_NUM_THREADS", raising=False)
        patch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
        model = load(folder, workers=2)
    torch.set_num_threads(before)
    assert isinstance(model.translator, TranslatorPool)
    yield model
    model.translator.pool.shutdown()


@pytest.mark.slow
def test_a_crew_gives_what_one_process_gives(folder: Path, crew: Model) -> None:
    alone = load(folder)
    assert crew(TEXTS, SEARCH, details=True) == alone(TEXTS, SEARCH, details=True)
    assert crew(TEXTS[:3]) == alone(TEXTS[:3])
    assert crew(TEXTS, SEARCH, prefix="a") == alone(TEXTS, SEARCH, prefix="a")


def test_what_a_worker_refuses_is_said(crew: Model) -> None:
    with pytest.raises(UsageError, match="Only greedy and beam search have a trace") as error:
        crew(TEXTS, {"kind": "sample", "batch_sentences": 4}, trace=True)
    assert error.value.hint == "search.kind=beam"


@pytest.mark.slow
def test_a_dead_worker_costs_one_retry(folder: Path, crew: Model) -> None:
    """As when the system is short of memory and kills one."""
    assert isinstance(crew.translator, TranslatorPool)
    expected = load(folder)(TEXTS, SEARCH)
    assert crew(TEXTS, SEARCH) == expected
    os.kill(one_of(crew.translator), signal.SIGKILL)
    assert crew(TEXTS, SEARCH) == expected
    assert crew(TEXTS, SEARCH) == expected


@pytest.mark.slow
def test_a_worker_may_die_in_the_middle_of_two_calls(folder: Path, crew: Model) -> None:
    assert isinstance(crew.translator, TranslatorPool)
    expected = load(folder)(TEXTS, SEARCH)
    with ThreadPoolExecutor(2) as callers:
        answers = [callers.submit(crew, TEXTS, SEARCH) for _ in range(2)]
        os.kill(one_of(crew.translator), signal.SIGKILL)
        assert [answer.result() for answer in answers] == [expected, expected]


def one_of(crew: TranslatorPool) -> int:
    assert isinstance(crew.pool, ProcessPoolExecutor)
    late = time.monotonic() + 60
    while not crew.pool._processes:
        assert time.monotonic() < late, "no worker was started"
        time.sleep(0.01)
    return next(iter(crew.pool._processes))


@pytest.mark.slow
def test_what_kills_every_worker_is_decoded_alone(folder: Path, crew: Model) -> None:
    assert isinstance(crew.translator, TranslatorPool)
    before = crew.translator.models
    crew.translator.models = before._replace(folder=Deadly(before.folder))
    try:
        assert crew(TEXTS, SEARCH) == load(folder)(TEXTS, SEARCH)
    finally:
        crew.translator.models = before
    assert crew(TEXTS, SEARCH) == load(folder)(TEXTS, SEARCH)


class Deadly(type(Path())):  # type: ignore[misc]
    """Whoever unpacks it in another process dies of it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


def test_workers_share_the_cores_that_may_be_used(crew: Model) -> None:
    assert isinstance(crew.translator, TranslatorPool)
    assert crew.translator.pool.submit(torch.get_num_threads).result() == 1


def test_workers_are_of_torch(tmp_path: Path) -> None:
    exported = exported_folder(tmp_path / "model")
    with pytest.raises(UsageError, match="ct2 distributes its work over the cores by itself"):
        load(exported, workers=2)


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(folder: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = parent.stdout.readline().split()
        assert workers
        parent.kill()
    late = time.monotonic() + 20
    while alive := [pid for pid in workers if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < late, f"still there: {alive}"
        time.sleep(0.05)
