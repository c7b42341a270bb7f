"""A page over two tiny models, one of each family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from dragoman.inference.model import Model
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.serving.local_server import LocalServer
from dragoman.serving.what_if import NamedModel, Workbench
from support.tiny_bundle import RNN, TRANSFORMER, tiny

TEXT = "a b c d"
SHORTEST = 5  # so that every output has the steps whose decisions are changed
BAHDANAU = {**RNN, "form": "bahdanau", "attention": "additive"}


@pytest.fixture(scope="session")
def models() -> list[NamedModel]:
    bundles = {
        "transformer": tiny(TRANSFORMER, min_length=SHORTEST),
        "recurrent": tiny(RNN, model={"decoder": BAHDANAU}, min_length=SHORTEST),
    }
    return [
        NamedModel(name, Model(Path(name), TorchRuntime(bundle)), bundle.config.search)
        for name, bundle in bundles.items()
    ]


@pytest.fixture(scope="session")
def workbench(models: list[NamedModel]) -> Workbench:
    return Workbench(models, TEXT)


@pytest.fixture(scope="session")
def server(workbench: Workbench) -> Iterator[LocalServer]:
    with LocalServer(workbench) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
