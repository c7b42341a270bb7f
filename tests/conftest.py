"""Shapes in signatures are checked in every test run; one thread, so that tests run side by side."""

import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from jaxtyping import install_import_hook

import support.shape_checks

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Children inherit what a shell ignores for commands in the background, and nohup does.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
settings.register_profile("busy", deadline=None)  # a deadline fails on a busy machine, not on a bug
settings.load_profile("busy")
_TENSORS = ("protocols", "nn", "losses", "search", "models", "training", "inference", "data.collate")
_hook = install_import_hook(
    [f"dragoman.{name}" for name in _TENSORS], f"{support.shape_checks.__name__}.once_per_shapes"
)

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DRAGOMAN_DATA", ROOT.parent / "shared" / "data"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-outputs", action="store_true", help="write what commands print into the pages")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with few tests first: those drive whole commands, and one of them alone would end last."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (tests[item.path], item.path))


@pytest.fixture(scope="session")
def data() -> Path:
    """The corpora, which are not part of the repository."""
    if not DATA.is_dir():
        pytest.skip(f"no corpora at {DATA}; set DRAGOMAN_DATA")
    return DATA


@pytest.fixture
def dragoman() -> list[str]:
    """The command, as a user would type it."""
    return [sys.executable, "-m", "dragoman"]
