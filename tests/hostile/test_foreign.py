"""A foreign model that is damaged or meant badly is refused in words; nothing hangs, and nothing is a bug."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from hostile.audit import Audit
from hostile.imports import Foreign, foreigners
from hostile.verbs import drive, spread
from support.foreign_models import written

SAMPLE = 40
SEEN = {  # to end in "This is a bug in Dragoman" once
    "an array of a number of no bytes", "an array of two numbers in one", "decoder.yml is no text",
    "enc-depth: a",
}  # fmt: skip


@cache
def audit() -> Audit:
    return Audit()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("foreign")
    written(home / "marian")
    assert drive("import", str(home / "marian"), "-o", str(home / "ours")).code == 0
    return home


def sample() -> list[Foreign]:
    found = {foreign.name: foreign for foreign in foreigners()}
    some = [foreign.name for foreign in spread(foreigners(), SAMPLE)]
    return [found[name] for name in dict.fromkeys([*sorted(SEEN), *some])]


def refused(home: Path, foreign: Foreign, place: Path) -> None:
    folder = Path(shutil.copytree(home / "marian", place / "foreign"))
    foreign.play(folder)
    with audit().listening() as seen:
        driven = drive("import", str(folder), "-o", str(place / "ours"))
    assert driven.code in (1, 2), driven
    assert "Traceback" not in driven.err
    assert "bug in Dragoman" not in driven.err
    assert "memory" not in driven.err
    assert "  where     " in driven.err
    assert not driven.hung
    assert not seen
    assert not (place / "ours").exists()


@pytest.mark.parametrize("foreign", sample(), ids=lambda foreign: foreign.name)
def test_some_of_them(foreign: Foreign, home: Path, tmp_path: Path) -> None:
    refused(home, foreign, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("foreign", foreigners(), ids=lambda foreign: foreign.name)
def test_all_of_them(foreign: Foreign, home: Path, tmp_path: Path) -> None:
    refused(home, foreign, tmp_path)


def test_there_are_many() -> None:
    assert len({foreign.name for foreign in foreigners()}) == len(foreigners()) > 120
